/** A redirect as the result of an operation: the `Location` of its 302. */
export class Redirect {
  readonly location: string;

  /** @param location an absolute address, encoded */
  constructor(location: string) {
    this.location = location;
  }
}
