/**
 * Many questions, few statements. A question that finds a free lane is asked at once; while all lanes are busy others gather, and
 * go together in the next statement: a burst costs few of them and a single question no waiting. The answers come in the
 * order of the questions; what fails fails all of its batch.
 */
export type Gathering<Q, A> = {
  ask: (questions: Q[]) => Promise<A[]>;
  lanes: number;
  /** What a question weighs of a batch, whose whole is 1; the first one always fits. */
  weigh: (question: Q) => number;
};

type Waiting<Q, A> = { question: Q; answer: PromiseWithResolvers<A> };

export function gathered<Q, A>({ ask, lanes, weigh }: Gathering<Q, A>): (question: Q) => Promise<A> {
  const waiting: Waiting<Q, A>[] = [];
  let busy = 0;

  const nextBatch = (): Waiting<Q, A>[] => {
    let weight = 0;
    const full = waiting.findIndex(({ question }, at) => (weight += weigh(question)) > 1 && at > 0);
    return waiting.splice(0, full < 0 ? waiting.length : full);
  };

  const askAll = async (batch: Waiting<Q, A>[]): Promise<void> => {
    try {
      const answers = await ask(batch.map(({ question }) => question));
      batch.forEach(({ answer }, at) => answer.resolve(answers[at] as A));
    } catch (error) {
      for (const { answer } of batch) answer.reject(error);
    }
  };

  const work = async (): Promise<void> => {
    busy += 1;
    for (let batch = nextBatch(); batch.length > 0; batch = nextBatch()) await askAll(batch);
    busy -= 1;
  };

  return (question) => {
    const answer = Promise.withResolvers<A>();
    waiting.push({ question, answer });
    if (busy < lanes) void work();
    return answer.promise;
  };
}
