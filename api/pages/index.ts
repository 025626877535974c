/** Every page, by the operationId of its operation. */
import type { HtmlPages } from '../page.ts';
import { showLeft, showReturned, showWayOut } from './way-out.ts';
import { certificatePage } from './certificate.ts';
import { previewPage } from './preview.ts';

export const pages: HtmlPages = {
  verifyCertificate: certificatePage,
  showCampaignPreview: previewPage,
  getMailPreference: showWayOut,
  unsubscribe: showLeft,
  resubscribe: showReturned,
};
