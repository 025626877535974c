/** Known advisories about our packages, as `npm audit` reports them: which end `npm run check`, and which are only listed. */

/** One of dev/accepted-advisories.json: we have looked at it, and it does not harm us until then. */
export interface AcceptedAdvisory {
  /** Such as `GHSA-c2qf-rxjj-qqgw`. */
  readonly id: string;
  readonly reason: string;
  /** The last day on which it is accepted, `YYYY-MM-DD`: then somebody looks again. */
  readonly until: string;
}

interface Advisory {
  readonly title: string;
  readonly url: string;
  readonly severity: string;
  readonly range: string;
}

/** What `npm audit --json` says, as far as it is read here. */
export interface AuditReport {
  readonly vulnerabilities: Readonly<
    Record<string, { readonly via: readonly (string | Advisory)[]; readonly nodes: readonly string[] }>
  >;
}

/** What package-lock.json says, as far as it is read here. */
export interface LockFile {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean } | undefined>>;
}

interface Judgement {
  /** A line for each advisory that ends the check. */
  readonly refused: readonly string[];
  /** A line for each other one, and for each accepted one that is not reported any more. */
  readonly listed: readonly string[];
}

const refusedSeverities: ReadonlySet<string> = new Set(['high', 'critical']);

/**
 * An advisory ends the check if it is high or critical, about a package that the service installs, and not accepted.
 * @param today `YYYY-MM-DD`
 */
export function judgeAdvisories(
  { vulnerabilities }: AuditReport,
  { packages }: LockFile,
  accepted: readonly AcceptedAdvisory[],
  today: string,
): Judgement {
  const refused: string[] = [];
  const listed: string[] = [];
  const seen = new Set<string>();
  for (const [name, { via, nodes }] of Object.entries(vulnerabilities)) {
    const isOfService = nodes.some((node) => packages[node]?.dev !== true);
    for (const advisory of via) {
      if (typeof advisory === 'string') continue; // only depends on a package that stands here itself
      const id = idOf(advisory);
      seen.add(id);
      const acceptance = accepted.find((one) => one.id === id && one.until >= today);
      const line = `${advisory.severity}: ${name} ${advisory.range}: ${advisory.title} (${id})`;
      if (acceptance) listed.push(`${line}; accepted until ${acceptance.until}: ${acceptance.reason}`);
      else if (!isOfService) listed.push(`${line}; a tool, which the service does not install`);
      else if (refusedSeverities.has(advisory.severity)) refused.push(line);
      else listed.push(line);
    }
  }
  for (const { id } of accepted)
    if (!seen.has(id))
      listed.push(`${id} is accepted in dev/accepted-advisories.json, but not reported: remove it there`);
  return { refused, listed };
}

const idOf = ({ url }: Advisory) => url.slice(url.lastIndexOf('/') + 1);

/** @param answer of `npm audit --json` @returns the report; or why there is none, without the registry's address */
export function readAudit(answer: string): AuditReport | { readonly reason: string } {
  let said: Partial<AuditReport> & { statusCode?: unknown; error?: { code?: unknown } };
  try {
    said = JSON.parse(answer) as typeof said;
  } catch {
    return { reason: 'no readable answer' };
  }
  if (typeof said.vulnerabilities === 'object') return { vulnerabilities: said.vulnerabilities };
  const reason = said.statusCode ?? said.error?.code;
  return { reason: typeof reason === 'number' || typeof reason === 'string' ? String(reason) : 'no readable answer' };
}
