/** Which visits to the addresses in a mail are a machine's: they say nothing of the recipient (CAMP-13). */

/** A request for a picture or a link, as far as it is looked at; nothing of it is kept. */
export interface Visit {
  method: string;
  /** @returns a header, empty where it is absent */
  header: (name: string) => string;
}

/** Programs that fetch what a mail names before anybody reads it, or without anybody: scanners, previews, crawlers, libraries. */
const machineNames =
  /bot\b|bots\/|crawl|spider|preview|prefetch|scan|monitor|headless|proofpoint|mimecast|barracuda|safelinks|trendmicro|symantec|bitdefender|sophos|facebookexternalhit|slurp|microsoft office|ms-office|existence discovery|python|curl|wget|libwww|java\/|go-http-client|okhttp|axios|node-fetch|undici|ruby|perl|php|http-client|httpclient/i;

/**
 * Privacy proxies that load the pictures of every mail: Apple's gives this name and no more. Those of Gmail and Yahoo are not
 * here: they load a picture when its mail is opened.
 */
const proxyNames = /^Mozilla\/5\.0$/;

/** What browsers send with what they fetch in advance. */
const purposeHeaders = ['purpose', 'sec-purpose', 'x-purpose', 'x-moz'];

/** @returns whether a machine made the visit, by what it says of itself */
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
