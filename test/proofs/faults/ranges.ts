interface Range {
  least: number;
  most: number;
}

export function between({ least, most }: Range): number {
  return least + Math.random() * (most - least);
}
