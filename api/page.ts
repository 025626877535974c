/** The type of a page. A page renders the answer of an operation as HTML for people with a browser. */
import type { OperationId, ResponseOf } from '../contract/contract.ts';
import type { Wording } from '../domain/language/wording.ts';
import type { DomainError } from '../platform/core/errors.ts';

export interface HtmlPage<Op extends OperationId> {
  /**
   * The content security policy of the page, as strict as possible. A function gets the body of the answer, which is undefined for an
   * error.
   */
  contentSecurityPolicy: string | ((body: ResponseOf<Op> | undefined) => string);
  /** @returns the HTML of an answer of the operation */
  answer: (body: ResponseOf<Op>) => string;
  /** @param wording the texts in the language of the reader @returns the HTML page that shows the error to the reader */
  refusal: (error: DomainError, wording: Wording) => string;
}

/**
 * A page for each operation whose success response has `text/html` in the contract. If a page is missing or not in the contract, the
 * process does not start.
 */
export type HtmlPages = { [Op in OperationId]?: HtmlPage<Op> };

/** A page of any operation. The compiler does not know which operation it is. */
export interface AnyHtmlPage {
  contentSecurityPolicy: string | ((body: never) => string);
  answer: (body: never) => string;
  refusal: (error: DomainError, wording: Wording) => string;
}
