/** What every bulk mail has around its parts: type, colors and footer, in MJML; and its compiler. */
import type { Direction } from '../../language/bidi.policy.ts';

/** Loaded when the first e-mail is compiled: it is large, and only these steps need it. */
export async function mjmlToHtml(mjml: string): Promise<string> {
  const { default: mjml2html } = await import('mjml');
  // No fonts: each would be fetched from a third party by everybody who opens the mail.
  const { html, errors } = await mjml2html(mjml, { validationLevel: 'soft', fonts: {}, keepComments: true });
  if (errors.length > 0) throw new Error('the compiler of e-mails refused its own input');
  // The compiler does not accept `text-align: start`, so it is inserted here. Outlook ignores it, and uses the cells' `align`.
  return html
    .replaceAll(/text-align:(?:left|right)/g, 'text-align:start')
    .replaceAll(/\n\s*\n+/g, '\n')
    .replaceAll(/\n +/g, '\n');
}

const font = 'system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif';

interface Frame {
  /** `#rrggbb`, of buttons and links. */
  accentColor: string;
  /** HTML above everything; empty for none. */
  logo: string;
  /** BCP 47 tag. */
  language: string;
  direction: Direction;
  /** What mailboxes show beside the subject; nothing if absent. */
  preheader?: string | undefined;
  /** Elements of a column. */
  body: string;
  /** HTML of the footer: who writes, and the way out. */
  footer: string;
  /** HTML behind everything. */
  end?: string;
}

/** @param frame escaped by the caller @returns a document of MJML */
export const frameMjml = ({
  language,
  direction,
  accentColor,
  logo,
  preheader,
  body,
  footer,
  end,
}: Frame): string => `<mjml lang="${language}" dir="${direction}"><mj-head>
${preheader === undefined ? '' : `<mj-preview>${preheader}</mj-preview>`}
<mj-attributes><mj-all font-family="${font}" /><mj-text align="${direction === 'rtl' ? 'right' : 'left'}" font-size="16px" line-height="1.5" color="#1f2430" />
<mj-button font-size="16px" background-color="${accentColor}" border-radius="6px" inner-padding="12px 20px" />
<mj-section direction="${direction}" /><mj-column direction="${direction}" /><mj-divider border-width="1px" border-color="#d8dbe2" /></mj-attributes>
<mj-style>p, ul, ol, h1, h2, h3, h4, h5, h6 { margin: 0 0 12px; } a { color: ${accentColor}; }</mj-style>
</mj-head><mj-body background-color="#ffffff"><mj-section padding="16px 0"><mj-column>
${logo === '' ? '' : `<mj-text>${logo}</mj-text>`}${body}
</mj-column></mj-section><mj-section padding="8px 0 24px"><mj-column><mj-divider />
<mj-text font-size="13px" color="#5b6270">${footer}</mj-text>
</mj-column></mj-section>${end === undefined ? '' : `<mj-raw>${end}</mj-raw>`}</mj-body></mjml>`;
