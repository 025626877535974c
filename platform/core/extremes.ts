/** The minimum and the maximum of many numbers. `Math.min(...values)` throws RangeError for more than about 100,000 values. */

/** @returns the minimum; Infinity for an empty list */
export const least = (values: Iterable<number>): number => {
  let found = Number.POSITIVE_INFINITY;
  for (const value of values) if (value < found) found = value;
  return found;
};

/** @returns the maximum; -Infinity for an empty list */
export const greatest = (values: Iterable<number>): number => {
  let found = Number.NEGATIVE_INFINITY;
  for (const value of values) if (value > found) found = value;
  return found;
};
