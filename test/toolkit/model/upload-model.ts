/**
 * A model of one upload. It knows the content of the bucket, the state of the record, and when the content and the record must be removed.
 * Times are Unix milliseconds.
 */
const minute = 60_000;
const week = 7 * 24 * 60 * minute;

interface ModelUpload {
  /** The content that the completion of the upload accepts. */
  good: Buffer;
  /** True for an image that a student shows to agents; false for a file of the library. */
  isImage: boolean;
  reservedAt: number;
}

export class UploadModel {
  /** The bucket's content. */
  stored: Buffer | undefined;
  status: 'uploading' | 'processing' | 'ready' | 'failed' = 'uploading';
  removed = false;
  due = false;
  /** The time at which the file expires if no question shows it. */
  keptUntil = Number.POSITIVE_INFINITY;
  /** From this time no upload can arrive any more. The record of an erased file is then deleted. */
  readonly lastArrival: number;
  readonly #upload: ModelUpload;
  readonly #addressEnds: number;
  /** The next time at which the service erases late uploads. */
  #again = Number.POSITIVE_INFINITY;

  constructor(upload: ModelUpload) {
    this.#upload = upload;
    this.#addressEnds = upload.reservedAt + 15 * minute;
    this.lastArrival = this.#addressEnds + 24 * 60 * minute;
  }

  get stays(): boolean {
    return this.status === 'ready' && !this.removed;
  }

  /** @returns the store's status */
  put(bytes: Buffer): 200 | 412 {
    if (this.stored) return 412;
    this.stored = bytes;
    return 200;
  }

  /** The file has arrived, and its processing waits for the store. */
  arrive(): void {
    if (this.status === 'uploading' && !this.removed && this.stored) this.status = 'processing';
  }

  complete(now: number): void {
    this.arrive();
    if (this.status !== 'processing' || this.removed || !this.stored) return;
    this.status = this.stored.equals(this.#upload.good) ? 'ready' : 'failed';
    if (this.status === 'failed') this.#erase(now);
    else if (this.#upload.isImage) this.keptUntil = now + week;
  }

  show(): void {
    if (this.stays) this.keptUntil = Number.POSITIVE_INFINITY;
  }

  remove(isErased: boolean, now: number): void {
    if (this.removed) return;
    this.removed = true;
    if (isErased) this.#erase(now);
    else this.due = true;
  }

  eraseDue(now: number): void {
    const isExpired = this.status === 'uploading' && !this.removed && now >= this.#upload.reservedAt + 75 * minute;
    if (isExpired) this.status = 'failed';
    const isUnused = this.stays && now >= this.keptUntil;
    if (isUnused) this.removed = true;
    if (isExpired || isUnused || this.due || now >= this.#again) this.#erase(now);
  }

  /**
   * Erases the file, and plans further erasures 5, 10, 20 … minutes after the upload address has expired. The last erasure is after a day.
   */
  #erase(now: number): void {
    this.stored = undefined;
    this.due = false;
    const later = this.#addressEnds + Math.max(5 * minute, 2 * (now - this.#addressEnds));
    this.#again = now < this.lastArrival ? Math.min(later, this.lastArrival) : Number.POSITIVE_INFINITY;
  }
}
