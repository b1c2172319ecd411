import { fromBase64, toBase64 } from "#shared/base64.ts";

/** Up to here ranges are kept though bits may be shorter. */
const readableLength = 64;

/**
 * A growing set of places (small whole numbers) with a short text: as ranges `0-41.43`, or as bits (`~` and base64url) where
 * it is so full of holes that these are shorter.
 */
export class PlaceSet {
  /** Ascending, never touching: [first, last]. */
  readonly #ranges: [number, number][] = [];
  #text: string | undefined;

  has(place: number): boolean {
    const [first, last] = this.#ranges[this.#indexOf(place)] ?? [1, 0];
    return place >= first && place <= last;
  }

  add(place: number): void {
    if (this.has(place)) return;
    this.#text = undefined;
    const at = this.#indexOf(place);
    const [before, behind] = [this.#ranges[at], this.#ranges[at + 1]];
    const first = before !== undefined && before[1] === place - 1 ? before[0] : place;
    const last = behind !== undefined && behind[0] === place + 1 ? behind[1] : place;
    const from = first === place ? at + 1 : at;
    this.#ranges.splice(from, (first === place ? 0 : 1) + (last === place ? 0 : 1), [first, last]);
  }

  get last(): number {
    return this.#ranges.at(-1)?.[1] ?? -1;
  }

  get text(): string {
    this.#text ??= this.#shortest();
    return this.#text;
  }

  /** Reads a text; undefined when it is none. */
  static parse(text: string, most: number): PlaceSet | undefined {
    const set = new PlaceSet();
    if (text.startsWith("~")) return fromBits(set, text.slice(1), most);
    for (const part of text === "" ? [] : text.split(".")) {
      const [, first, last = first] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part) ?? [];
      if (first === undefined || Number(last) < Number(first) || Number(last) >= most) return undefined;
      for (let place = Number(first); place <= Number(last); place++) set.add(place);
    }
    return set;
  }

  /** The last range that begins at the place or before it; -1 when there is none. */
  #indexOf(place: number): number {
    let [low, high] = [0, this.#ranges.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ranges[middle]?.[0] ?? Infinity) <= place) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #shortest(): string {
    const fair = Math.max(readableLength, 1 + Math.ceil((this.last + 1) / 6));
    // Not even written where the bits are surely shorter.
    const isFull = this.#ranges.length * 2 > fair;
    const ranges = isFull
      ? undefined
      : this.#ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(".");
    return ranges !== undefined && ranges.length <= fair ? ranges : this.#bits();
  }

  #bits(): string {
    const bytes = new Uint8Array(Math.ceil((this.last + 1) / 8));
    for (const [first, last] of this.#ranges)
      for (let place = first; place <= last; place++)
        bytes[place >> 3] = (bytes[place >> 3] ?? 0) | (1 << (place & 7));
    return `~${toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
  }
}

const fromBits = (set: PlaceSet, text: string, most: number): PlaceSet | undefined => {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1 || text.length > most) return undefined;
  const bytes = fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
  for (let place = 0; place < bytes.length * 8; place++) {
    if (((bytes[place >> 3] ?? 0) & (1 << (place & 7))) === 0) continue;
    if (place >= most) return undefined;
    set.add(place);
  }
  return set;
};
