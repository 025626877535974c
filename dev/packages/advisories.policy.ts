/** Decides by the report of `npm audit` which advisories about our packages fail `npm run check`. It only lists the others. */

/** An entry of dev/packages/accepted-advisories.json: a person decided that the advisory does not harm the service. */
export interface AcceptedAdvisory {
  /** Such as `GHSA-c2qf-rxjj-qqgw`. */
  readonly id: string;
  readonly reason: string;
  /** The last day, `YYYY-MM-DD`. Then the advisory must be examined again. */
  readonly until: string;
}

interface Advisory {
  readonly title: string;
  readonly url: string;
  readonly severity: string;
  readonly range: string;
}

/** The parts of `npm audit --json` that are used here. */
export interface AuditReport {
  readonly vulnerabilities: Readonly<
    Record<string, { readonly via: readonly (string | Advisory)[]; readonly nodes: readonly string[] }>
  >;
}

/** The parts of package-lock.json that are used here. */
export interface LockFile {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean } | undefined>>;
}

interface Judgement {
  /** One line for each advisory that fails the check. */
  readonly refused: readonly string[];
  /** One line for each other advisory, and for each accepted advisory that the registry no longer reports. */
  readonly listed: readonly string[];
}

const refusedSeverities: ReadonlySet<string> = new Set(['high', 'critical']);

/**
 * An advisory fails the check if its severity is high or critical, the service installs the package, and the advisory is not accepted.
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
      if (typeof advisory === 'string') continue; // Such a package only depends on another package of the report.
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
 * @returns the report, or why there is none, without the registry's address
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
