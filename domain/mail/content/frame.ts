/** Builds and compiles the MJML document around the blocks of a bulk mail, with fonts, colors and footer. */
import type { Direction } from '../../language/bidi.policy.ts';

/** Compiles MJML to HTML. The compiler is large, so it is loaded for the first e-mail. */
export async function mjmlToHtml(mjml: string): Promise<string> {
  const { default: mjml2html } = await import('mjml');
  // The document uses no web fonts, because the reader's mail program would fetch them from a third party.
  const { html, errors } = await mjml2html(mjml, { validationLevel: 'soft', fonts: {}, keepComments: true });
  if (errors.length > 0) throw new Error(`MJML reported ${errors.length} errors in the document of an e-mail`);
  // The MJML compiler does not accept `text-align: start`, so the compiled HTML gets it here. Outlook ignores this style, and uses the
  // attribute `align` of the table cells.
  return html
    .replaceAll(/text-align:(?:left|right)/g, 'text-align:start')
    .replaceAll(/\n\s*\n+/g, '\n')
    .replaceAll(/\n +/g, '\n');
}

const font = 'system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif';

interface Frame {
  /** The color of buttons and links, as `#rrggbb`. */
  accentColor: string;
  /** HTML above the content; empty without a logo. */
  logo: string;
  /** BCP 47 tag. */
  language: string;
  direction: Direction;
  /** The text that mail programs show beside the subject; absent if the e-mail has no such text. */
  preheader?: string | undefined;
  /** The MJML elements inside the column. */
  body: string;
  /** HTML of the footer: the sender, and the unsubscribe link. */
  footer: string;
  /** HTML at the end of the document. */
  end?: string;
}

/** @param frame the parts of the document, whose values the caller has escaped @returns an MJML document */
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
