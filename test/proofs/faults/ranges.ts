/** From the least to the most, both included. */
interface Range {
  least: number;
  most: number;
}

/** @returns a number of the range, by chance */
export function between({ least, most }: Range): number {
  return least + Math.random() * (most - least);
}
