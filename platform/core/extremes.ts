/** The least and the greatest of many numbers. `Math.min(...values)` throws RangeError beyond some 100,000 values. */

/** @returns Infinity if there is none */
export const least = (values: Iterable<number>): number => {
  let found = Number.POSITIVE_INFINITY;
  for (const value of values) if (value < found) found = value;
  return found;
};

/** @returns -Infinity if there is none */
export const greatest = (values: Iterable<number>): number => {
  let found = Number.NEGATIVE_INFINITY;
  for (const value of values) if (value > found) found = value;
  return found;
};
