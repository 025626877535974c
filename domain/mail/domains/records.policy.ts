/**
 * The DNS records that prove a club's mail domain. Computes which records the club must publish, and the state of the published records
 * (CAMP-40). The functions are pure.
 */

export type DomainRecordKind = 'dkim' | 'spf' | 'dmarc';
export type DomainRecordState = 'ok' | 'missing' | 'wrong';

export interface SigningDomain {
  domain: string;
  /** The DKIM selector: the name of the key in the domain. */
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
 * @param spfInclude names the platform's mail servers; undefined if no SPF record is required
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

/**
 * Returns the state of the DKIM record. It is `ok` if our key is the only published key, is valid for mail, and is not marked as a test. In
 * every other case, receivers do not accept our signature for the domain.
 */
export function dkimState(texts: readonly string[], publicKey: string): DomainRecordState {
  const keys = texts.map(tagsOf).filter((tags) => tags.has('p') && (tags.get('v') ?? 'DKIM1') === 'DKIM1');
  const [tags] = keys;
  if (!tags) return 'missing';
  const allows = (tag: string, needed: string) =>
    [needed, '*'].some((value) => (tags.get(tag) ?? '*').split(':').includes(value));
  const isOurs =
    keys.length === 1 &&
    tags.get('p') === publicKey &&
    (tags.get('k') ?? 'rsa') === 'rsa' &&
    allows('h', 'sha256') &&
    allows('s', 'email') &&
    !(tags.get('t') ?? '').split(':').includes('y');
  return isOurs ? 'ok' : 'wrong';
}

/**
 * Returns the state of the SPF record. It is `ok` if the domain has exactly one policy, and this policy includes the platform's mail
 * servers.
 */
export function spfState(texts: readonly string[], include: string): DomainRecordState {
  const policies = texts.filter((text) => /^v=spf1(?:\s|$)/i.test(text));
  const [policy] = policies;
  if (policy === undefined) return 'missing';
  const terms = policy.toLowerCase().split(/\s/);
  const names = [`include:${include}`, `+include:${include}`, `redirect=${include}`];
  return policies.length === 1 && names.some((name) => terms.includes(name)) ? 'ok' : 'wrong';
}

/**
 * Returns the state of the DMARC record. It is `ok` if the domain has exactly one policy. The policy may demand strict or relaxed
 * alignment. The service's signature satisfies strict and relaxed alignment, because it names exactly this domain.
 */
export function dmarcState(texts: readonly string[]): DomainRecordState {
  const policies = texts.filter((text) => /^v\s*=\s*DMARC1\s*(?:;|$)/.test(text));
  const [policy] = policies;
  if (policy === undefined) return 'missing';
  const action = tagsOf(policy).get('p')?.toLowerCase() ?? '';
  return policies.length === 1 && ['none', 'quarantine', 'reject'].includes(action) ? 'ok' : 'wrong';
}

/**
 * @returns the domain names under which the policy may be published, nearest first; the policy of a parent domain also applies to its
 * subdomains
 */
export function dmarcNames(domain: string): string[] {
  const labels = domain.split('.');
  return labels.slice(0, -1).map((_, from) => `_dmarc.${labels.slice(from).join('.')}`);
}

/** Parses `tag=value` pairs that are separated by semicolons. White space is ignored, because a value may be published in pieces. */
function tagsOf(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split(';').flatMap((pair) => {
      const at = pair.indexOf('=');
      return at === -1 ? [] : [[pair.slice(0, at).trim().toLowerCase(), pair.slice(at + 1).replaceAll(/\s/g, '')]];
    }),
  );
}
