/** What an operation answers with whose response is no JSON: bytes and what they are. */
export class Binary {
  readonly type: string;
  readonly bytes: Buffer;
  readonly fileName: string;

  /**
   * @param type media type, as the contract's response has it
   * @param bytes the response's body
   * @param fileName what it is called where somebody keeps it; ASCII
   */
  constructor(type: string, bytes: Buffer, fileName: string) {
    this.type = type;
    this.bytes = bytes;
    this.fileName = fileName;
  }
}
