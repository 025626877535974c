/**
 * Corrects response heads that HTTP allows and undici's parser refuses: interim responses such as `100 Continue` (RFC 9110, 15.2), header
 * lines that continue in the next line, and line ends without a carriage return (RFC 9112).
 */
import type { Socket } from 'node:net';
import { errors } from 'undici';

export interface ResponseHeadRules {
  /** A receiver that sends more is flooding us, and would slow other responses for 15 s. */
  interimResponses: number;
  /** In bytes. */
  headBytes: number;
}

const [lineFeed, carriageReturn, space, tab] = [0x0a, 0x0d, 0x20, 0x09];
const lineEnd = Buffer.from('\r\n');
const interimStart = 'HTTP/1.1 1xx ';
const isInterim = /^HTTP\/1\.[01] 1\d\d[ \r\n]/;
const isInterimSoFar = (text: string): boolean =>
  text.length < interimStart.length && isInterim.test(text + 'HTTP/1.0 100 '.slice(text.length));

/**
 * Corrects the bytes of responses. Call `begin` before the head of each further response. Interim heads are dropped, the final head is
 * corrected, and the body passes unchanged.
 */
export class ResponseHead {
  #phase: 'start' | 'interim' | 'head' | 'body' = 'start';
  /** The meaning of these bytes depends on the next bytes. */
  #undecided: Buffer = Buffer.alloc(0);
  #skipped = 0;
  /** True when the receiver has the request. */
  hasBegun = false;
  readonly #rules: ResponseHeadRules;

  constructor(rules: ResponseHeadRules) {
    this.#rules = rules;
  }

  begin(): void {
    this.#phase = 'start';
    this.#undecided = Buffer.alloc(0);
    this.#skipped = 0;
    this.hasBegun = false;
  }

  get isInBody(): boolean {
    return this.#phase === 'body';
  }

  /**
   * @param chunk may be changed
   * @returns the bytes to parse; empty while more bytes are needed
   * @throws HeadersOverflowError
   */
  push(chunk: Buffer): Buffer {
    if (this.#phase === 'body') return chunk;
    this.hasBegun = true;
    let bytes = this.#undecided.length > 0 ? Buffer.concat([this.#undecided, chunk]) : chunk;
    this.#undecided = Buffer.alloc(0);
    while (this.#phase === 'start' || this.#phase === 'interim') {
      if (this.#phase === 'start') {
        const start = bytes.toString('latin1', 0, interimStart.length);
        if (isInterimSoFar(start)) return this.#waitWith(bytes);
        this.#phase = isInterim.test(start) ? 'interim' : 'head';
      } else {
        const end = endOfHead(bytes);
        if (end === undefined && bytes.length <= this.#rules.headBytes) return this.#waitWith(bytes);
        this.#skipped++;
        if (end === undefined || this.#skipped > this.#rules.interimResponses) throw new errors.HeadersOverflowError();
        bytes = bytes.subarray(end);
        this.#phase = 'start';
      }
    }
    return this.#mend(bytes);
  }

  /**
   * Replaces a line end before a space, and adds missing carriage returns, until the end of the head. A line end waits for the byte after
   * it.
   */
  #mend(bytes: Buffer): Buffer {
    const mended: Buffer[] = [];
    let rest = 0;
    for (let end = bytes.indexOf(lineFeed); end !== -1; end = bytes.indexOf(lineFeed, end + 1)) {
      const textEnd = bytes[end - 1] === carriageReturn ? end - 1 : end;
      const hasReturn = bytes[end + 1] === carriageReturn;
      const next = hasReturn ? bytes[end + 2] : bytes[end + 1];
      if (next === undefined) return this.#pass(mended, bytes, rest, textEnd);
      if (next === lineFeed) this.#phase = 'body';
      if (next === lineFeed && hasReturn && textEnd < end && rest === 0) return bytes;
      if (bytes[end + 1] === space || bytes[end + 1] === tab) {
        bytes.fill(space, textEnd, end + 1);
      } else if (textEnd === end || next === lineFeed) {
        mended.push(bytes.subarray(rest, textEnd), lineEnd);
        rest = end + 1;
      }
      if (next === lineFeed) {
        mended.push(lineEnd);
        return this.#pass(mended, bytes, end + (hasReturn ? 3 : 2), bytes.length);
      }
    }
    return this.#pass(mended, bytes, rest, bytes.at(-1) === carriageReturn ? bytes.length - 1 : bytes.length);
  }

  /** @returns the corrected bytes, then the bytes from `rest` to `end`; later bytes wait for the next call */
  #pass(mended: readonly Buffer[], bytes: Buffer, rest: number, end: number): Buffer {
    this.#undecided = bytes.subarray(end);
    const passed = bytes.subarray(rest, end);
    return mended.length === 0 ? passed : Buffer.concat([...mended, passed]);
  }

  #waitWith(bytes: Buffer): Buffer {
    this.#undecided = bytes;
    return Buffer.alloc(0);
  }
}

function endOfHead(bytes: Buffer): number | undefined {
  for (let end = bytes.indexOf(lineFeed); end !== -1; end = bytes.indexOf(lineFeed, end + 1)) {
    if (bytes[end + 1] === lineFeed) return end + 2;
    if (bytes[end + 1] === carriageReturn && bytes[end + 2] === lineFeed) return end + 3;
  }
  return undefined;
}

/**
 * Puts a `ResponseHead` between a socket and undici, which reads a socket only by `read()`.
 * @returns the reader; call its `begin` before each further request on the socket
 */
export function mendResponses(socket: Socket, rules: ResponseHeadRules): ResponseHead {
  const head = new ResponseHead(rules);
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk = read(size);
      if (chunk === null || head.isInBody) return chunk;
      try {
        const bytes = head.push(chunk);
        if (bytes.length > 0) return bytes;
      } catch (error) {
        socket.destroy(error as Error);
        return null;
      }
    }
  };
  return head;
}
