/** Lists all pages by the `operationId` of their operation. */
import type { HtmlPages } from '../page.ts';
import { showUnsubscribed, showResubscribed, showUnsubscribe } from './unsubscribe.ts';
import { certificatePage } from './certificate.ts';
import { previewPage } from './preview.ts';

export const pages: HtmlPages = {
  verifyCertificate: certificatePage,
  showCampaignPreview: previewPage,
  getMailPreference: showUnsubscribe,
  unsubscribe: showUnsubscribed,
  resubscribe: showResubscribed,
};
