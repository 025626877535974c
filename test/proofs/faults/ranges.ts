/** A range of numbers. */
interface Range {
  least: number;
  most: number;
}

/** @returns a random number in the range */
export function between({ least, most }: Range): number {
  return least + Math.random() * (most - least);
}
