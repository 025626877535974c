/** A response body that is not JSON: bytes with a media type. */
export class Binary {
  readonly type: string;
  readonly bytes: Buffer;
  readonly fileName: string;

  /**
   * @param type the media type, which the contract's response declares
   * @param bytes the bytes of the body
   * @param fileName the name under which a client saves the file, in ASCII
   */
  constructor(type: string, bytes: Buffer, fileName: string) {
    this.type = type;
    this.bytes = bytes;
    this.fileName = fileName;
  }
}
