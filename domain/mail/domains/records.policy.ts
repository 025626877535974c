/** The DNS records that prove a club's mail domain: what is to be published, and what is wrong with what was found (CAMP-40). Pure. */

export type DomainRecordKind = 'dkim' | 'spf' | 'dmarc';
export type DomainRecordState = 'ok' | 'missing' | 'wrong';

/** What a domain's records depend on. */
export interface SigningDomain {
  domain: string;
  /** Names the key among those of the domain. */
  selector: string;
  /** SPKI in base64. */
  publicKey: string;
}

export interface DomainRecord {
  kind: DomainRecordKind;
  name: string;
  value: string;
}

/**
 * @param spfInclude the name whose servers send for the platform; without one, no SPF record is asked for
 * @returns the TXT records to publish
 */
export function recordsOf(
  { domain, selector, publicKey }: SigningDomain,
  spfInclude: string | undefined,
): DomainRecord[] {
  return [
    { kind: 'dkim', name: `${selector}._domainkey.${domain}`, value: `v=DKIM1; k=rsa; p=${publicKey}` },
    ...(spfInclude === undefined
      ? []
      : [{ kind: 'spf' as const, name: domain, value: `v=spf1 include:${spfInclude} ~all` }]),
    { kind: 'dmarc', name: `_dmarc.${domain}`, value: 'v=DMARC1; p=none' },
  ];
}

/** The key is published, alone, for mail, and not for testing only: else nobody takes our signature for the domain's. */
export function dkimState(texts: readonly string[], publicKey: string): DomainRecordState {
  const keys = texts.map(tagsOf).filter((tags) => tags.has('p') && (tags.get('v') ?? 'DKIM1') === 'DKIM1');
  const [tags] = keys;
  if (!tags) return 'missing';
  const allows = (tag: string, wanted: string) =>
    [wanted, '*'].some((value) => (tags.get(tag) ?? '*').split(':').includes(value));
  const isOurs =
    keys.length === 1 &&
    tags.get('p') === publicKey &&
    (tags.get('k') ?? 'rsa') === 'rsa' &&
    allows('h', 'sha256') &&
    allows('s', 'email') &&
    !(tags.get('t') ?? '').split(':').includes('y');
  return isOurs ? 'ok' : 'wrong';
}

/** There is one policy, and the platform's servers are in it. */
export function spfState(texts: readonly string[], include: string): DomainRecordState {
  const policies = texts.filter((text) => /^v=spf1(?:\s|$)/i.test(text));
  const [policy] = policies;
  if (policy === undefined) return 'missing';
  const terms = policy.toLowerCase().split(/\s/);
  const names = [`include:${include}`, `+include:${include}`, `redirect=${include}`];
  return policies.length === 1 && names.some((name) => terms.includes(name)) ? 'ok' : 'wrong';
}

/** There is one policy. Our signature is of the very domain, so mail is aligned whether it asks strictly or not. */
export function dmarcState(texts: readonly string[]): DomainRecordState {
  const policies = texts.filter((text) => /^v\s*=\s*DMARC1\s*(?:;|$)/.test(text));
  const [policy] = policies;
  if (policy === undefined) return 'missing';
  const asks = tagsOf(policy).get('p')?.toLowerCase() ?? '';
  return policies.length === 1 && ['none', 'quarantine', 'reject'].includes(asks) ? 'ok' : 'wrong';
}

/** @returns the names that may hold the policy of the domain, nearest first; a parent's holds for all below it */
export function dmarcNames(domain: string): string[] {
  const labels = domain.split('.');
  return labels.slice(0, -1).map((_, from) => `_dmarc.${labels.slice(from).join('.')}`);
}

/** `tag=value` pairs between semicolons; white space does not count, so that a value may be published in pieces. */
function tagsOf(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split(';').flatMap((pair) => {
      const at = pair.indexOf('=');
      return at === -1 ? [] : [[pair.slice(0, at).trim().toLowerCase(), pair.slice(at + 1).replaceAll(/\s/g, '')]];
    }),
  );
}
