/** The bounds of making subtitles of speech, and why none are made (MED-34). */

const minute = 60_000;
const hour = 60 * minute;

export const transcriptionRules = {
  /** Three times the length of the file, but not less and not more. */
  timesItsLength: 3,
  leastMs: 10 * minute,
  mostMs: 6 * hour,
  memoryMb: 6_144,
  /** That each of its processes may keep busy for the whole time: a bound of CPU time also ends a child that has left its group. */
  cores: 16,
  /** Of what it writes for its own use, beside the sound. */
  scratchBytes: 1_024 * 1_024 * 1_024,
  /** Of the subtitles. */
  maxOutputBytes: 2 * 1_024 * 1_024,
  /** 16,000 samples of two bytes a second. */
  soundBytesASecond: 32_000,
  soundMs: hour,
  /** Of the trial of `doctor`, in which the program reads its model. */
  trialMs: 2 * minute,
  soundMemoryMb: 2_048,
  /** Attempts of which none was given back: a worker that dies of a file each time ends it. */
  attempts: 3,
  leaseMs: 10_000,
  renewalMs: 2_500,
  /** Without the program, or without ffmpeg, it looks again after this time; without room on the disk sooner. */
  programWaitMs: hour,
  diskWaitMs: 5 * minute,
  faultWaitMs: minute,
} as const;

/** @param durationMs of the file; null if nobody knows @returns milliseconds for the command */
export function commandTime(durationMs: number | null): number {
  const { timesItsLength, leastMs, mostMs } = transcriptionRules;
  return Math.min(mostMs, Math.max(leastMs, (durationMs ?? mostMs) * timesItsLength));
}
