const deadlockDetected = "40P01";
const maxTries = 3;

/**
 * Runs a statement over many rows again when it lost a deadlock: two of them may lock the same rows in
 * another order. It was rolled back as a whole, so a repeat repeats nothing.
 */
export async function againOnDeadlock<T>(statement: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await statement();
    } catch (error) {
      const lost = error instanceof Error && "code" in error && error.code === deadlockDetected;
      if (!lost || tries === maxTries) throw error;
    }
  }
}
