/** The type of a page, which renders the answer of an operation as HTML for people with a browser. */
import type { OperationId, ResponseOf } from '../contract/contract.ts';
import type { Wording } from '../domain/language/wording.ts';
import type { DomainError } from '../platform/core/errors.ts';

export interface HtmlPage<Op extends OperationId> {
  /** The content security policy of the page, as strict as possible. It may depend on the answer, which is undefined for a refusal. */
  contentSecurityPolicy: string | ((body: ResponseOf<Op> | undefined) => string);
  /** @returns the HTML of an answer of the operation */
  answer: (body: ResponseOf<Op>) => string;
  /** @param wording the texts in the language of the reader @returns the HTML page that shows the error to the reader */
  refusal: (error: DomainError, wording: Wording) => string;
}

/**
 * A page for each operation whose success response has `text/html` in the contract. A missing or extra page stops the start of the process.
 */
export type HtmlPages = { [Op in OperationId]?: HtmlPage<Op> };

/** A page whose operation is known only by name at compile time. */
export interface AnyHtmlPage {
  contentSecurityPolicy: string | ((body: never) => string);
  answer: (body: never) => string;
  refusal: (error: DomainError, wording: Wording) => string;
}
