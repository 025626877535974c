/**
 * Evaluates known advisories about our packages from the report of `npm audit`. Some advisories fail `npm run check`; the other advisories
 * are only listed.
 */

/**
 * An entry of dev/packages/accepted-advisories.json. A person has examined the advisory and accepted it until a date, because it does not
 * harm the service.
 */
export interface AcceptedAdvisory {
  /** Such as `GHSA-c2qf-rxjj-qqgw`. */
  readonly id: string;
  readonly reason: string;
  /** The last day on which the advisory is accepted, `YYYY-MM-DD`. After this day the advisory must be examined again. */
  readonly until: string;
}

interface Advisory {
  readonly title: string;
  readonly url: string;
  readonly severity: string;
  readonly range: string;
}

/** The parts of the output of `npm audit --json` that this file uses. */
export interface AuditReport {
  readonly vulnerabilities: Readonly<
    Record<string, { readonly via: readonly (string | Advisory)[]; readonly nodes: readonly string[] }>
  >;
}

/** The parts of package-lock.json that this file uses. */
export interface LockFile {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean } | undefined>>;
}

interface Judgement {
  /** A line for each advisory that fails the check. */
  readonly refused: readonly string[];
  /** A line for each other advisory, and for each accepted advisory that is no longer reported. */
  readonly listed: readonly string[];
}

const refusedSeverities: ReadonlySet<string> = new Set(['high', 'critical']);

/**
 * An advisory fails the check if all of this is true: its severity is high or critical, the service installs the package, and the advisory
 * is not accepted.
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
  const listedIds = new Set<string>();
  for (const [name, { via, nodes }] of Object.entries(vulnerabilities)) {
    const isOfService = nodes.some((node) => packages[node]?.dev !== true);
    for (const advisory of via) {
      if (typeof advisory === 'string') continue; // The package itself has no advisory; it only depends on another package of the report.
      const id = idOf(advisory);
      listedIds.add(id);
      const acceptance = accepted.find((one) => one.id === id && one.until >= today);
      const line = `${advisory.severity}: ${name} ${advisory.range}: ${advisory.title} (${id})`;
      if (acceptance) listed.push(`${line}; accepted until ${acceptance.until}: ${acceptance.reason}`);
      else if (!isOfService) listed.push(`${line}; a tool, which the service does not install`);
      else if (refusedSeverities.has(advisory.severity)) refused.push(line);
      else listed.push(line);
    }
  }
  for (const { id } of accepted)
    if (!listedIds.has(id))
      listed.push(`${id} is accepted in dev/packages/accepted-advisories.json, but not reported: remove it there`);
  return { refused, listed };
}

const idOf = ({ url }: Advisory) => url.slice(url.lastIndexOf('/') + 1);

/**
 * @param answer the output of `npm audit --json`
 * @returns the report; or the reason why there is no report, without the registry's address
 */
export function readAudit(answer: string): AuditReport | { readonly reason: string } {
  let report: Partial<AuditReport> & { statusCode?: unknown; error?: { code?: unknown } };
  try {
    report = JSON.parse(answer) as typeof report;
  } catch {
    return { reason: 'no readable answer' };
  }
  if (typeof report.vulnerabilities === 'object') return { vulnerabilities: report.vulnerabilities };
  const reason = report.statusCode ?? report.error?.code;
  return { reason: typeof reason === 'number' || typeof reason === 'string' ? String(reason) : 'no readable answer' };
}
