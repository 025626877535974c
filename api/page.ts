/** A page shows the answer of an operation as HTML, for people with a browser. */
import type { OperationId, ResponseOf } from '../contract/contract.ts';
import type { Wording } from '../domain/language/wording.ts';
import type { DomainError } from '../platform/core/errors.ts';

export interface HtmlPage<Op extends OperationId> {
  /** The policy is as strict as possible. A function gets the body of the answer, undefined for an error. */
  contentSecurityPolicy: string | ((body: ResponseOf<Op> | undefined) => string);
  answer: (body: ResponseOf<Op>) => string;
  /** @param wording in the language of the reader */
  refusal: (error: DomainError, wording: Wording) => string;
}

/**
 * There is one page for each success response with `text/html`. If a page is missing or not in the contract, the process does not start.
 */
export type HtmlPages = { [Op in OperationId]?: HtmlPage<Op> };

export interface AnyHtmlPage {
  contentSecurityPolicy: string | ((body: never) => string);
  answer: (body: never) => string;
  refusal: (error: DomainError, wording: Wording) => string;
}
