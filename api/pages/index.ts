/** Every page by the operationId of what it draws. */
import type { HtmlPages } from '../page.ts';
import { showLeft, showReturned, showWayOut } from './way-out.ts';
import { certificatePage } from './certificate.ts';

export const pages: HtmlPages = {
  verifyCertificate: certificatePage,
  getMailPreference: showWayOut,
  unsubscribe: showLeft,
  resubscribe: showReturned,
};
