/** The C library's allocator, as API and worker run best with it: docs/how-to/deploy.md says how operators set it. */

/**
 * glibc raises its thresholds as large blocks come and go, and then keeps what is free between smaller ones: the memory of an API
 * that hashes passwords and moves files grew by 15 MiB an hour. With fixed thresholds (bytes) it gives large blocks back at once.
 */
export const allocatorSettings: Readonly<Record<string, string>> = {
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
};
