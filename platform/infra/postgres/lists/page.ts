/** The one way to page: a page of rows and how many there are in all. */

export interface Page {
  /** From 1. */
  page: number;
  /** 1 to 100. */
  page_size: number;
}

export interface Listed<T> {
  rows: T[];
  total: number;
}

/** @returns LIMIT and OFFSET */
export function windowOf({ page, page_size: size }: Page): { limit: number; offset: number } {
  return { limit: size, offset: (page - 1) * size };
}
