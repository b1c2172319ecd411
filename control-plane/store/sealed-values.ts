/** Where sealed values lie: starts and fan-outs that are not over, and named secrets. */
export type SealedPlace = "processes" | "fanouts" | "secrets";

/** Everything that is sealed, for whoever replaces the key. */
export interface SealedValues {
  /** Those that do not begin with `mark`, by id or name, behind `after`. */
  others(
    place: SealedPlace,
    query: { mark: Uint8Array; after: string; limit: number },
  ): Promise<{ id: string; sealed: Uint8Array }[]>;
  /** Replaces what is still as it was read; false where it is not. */
  replace(place: SealedPlace, value: { id: string; was: Uint8Array; sealed: Uint8Array }): Promise<boolean>;
}
