/** Recognizes visits of machines to the addresses in a mail. Such visits do not show that the recipient read the mail (CAMP-13). */

/** The parts of a request for a picture or a link that are checked, and never stored. */
export interface Visit {
  method: string;
  /** @returns the value of a header; empty if the header is absent */
  header: (name: string) => string;
}

/**
 * Matches the user agents of programs that fetch the addresses in a mail although no person reads the mail: scanners, previews, crawlers,
 * HTTP libraries.
 */
const machineNames =
  /bot\b|bots\/|crawl|spider|preview|prefetch|scan|monitor|headless|proofpoint|mimecast|barracuda|safelinks|trendmicro|symantec|bitdefender|sophos|facebookexternalhit|slurp|microsoft office|ms-office|existence discovery|python|curl|wget|libwww|java\/|go-http-client|okhttp|axios|node-fetch|undici|ruby|perl|php|http-client|httpclient/i;

/**
 * Apple's privacy proxy loads the pictures of every mail. The proxies of Gmail and Yahoo load a picture only when its mail is opened, so
 * they are not listed.
 */
const proxyNames = /^Mozilla\/5\.0$/;

/** The headers with which a browser says that it fetches a page in advance. */
const purposeHeaders = ['purpose', 'sec-purpose', 'x-purpose', 'x-moz'];

/** @returns whether the method or the headers of the visit show that a machine sent it */
export function isMachine({ method, header }: Visit): boolean {
  const agent = header('user-agent').trim();
  return (
    method === 'HEAD' ||
    agent === '' ||
    machineNames.test(agent) ||
    proxyNames.test(agent) ||
    purposeHeaders.some((name) => /prefetch|preview|prerender/i.test(header(name)))
  );
}
