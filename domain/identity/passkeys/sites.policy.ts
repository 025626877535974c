/** The sites whose pages may use passkeys: the dashboard for administrators, and the classrooms for students (PKY-2). */

/** A site of passkeys. */
export interface PasskeySite {
  /** The relying party id: a domain to which authenticators bind a passkey. */
  readonly rpId: string;
  /** The address of the pages. `{slug}` stands for the slug of a club. */
  readonly address: string;
}

export interface PasskeySites {
  readonly dashboard: PasskeySite;
  readonly classroom: PasskeySite;
}

/** The settings of both sites. The domains are absent if the addresses decide about them. */
export interface SiteSettings {
  readonly dashboardUrl: string;
  readonly classroomUrl: string;
  readonly passkeys: { readonly dashboardDomain?: string | undefined; readonly classroomDomain?: string | undefined };
}

/**
 * The domain of the classrooms is the part of the host after the label with `{slug}`. So passkeys survive a new slug, and one domain serves
 * all clubs.
 */
export function passkeySitesOf({ dashboardUrl, classroomUrl, passkeys }: SiteSettings): PasskeySites {
  return {
    dashboard: { rpId: passkeys.dashboardDomain ?? hostOf(dashboardUrl), address: dashboardUrl },
    classroom: { rpId: passkeys.classroomDomain ?? domainOfAllClubs(classroomUrl), address: classroomUrl },
  };
}

/** @returns the problems of the settings, each a sentence for the operator. A malformed address is a problem of its own setting */
export function passkeyMistakes(settings: SiteSettings): string[] {
  const { dashboard, classroom } = passkeySitesOf(settings);
  const rows = [
    ['PASSKEY_DASHBOARD_DOMAIN', 'DASHBOARD_URL', dashboard],
    ['PASSKEY_CLASSROOM_DOMAIN', 'CLASSROOM_URL', classroom],
  ] as const;
  return rows.flatMap(([name, address, site]) =>
    hostOf(site.address) === '' || isWithin(hostOf(site.address), site.rpId)
      ? []
      : [`${name} must be the host of ${address} or a domain above it, and must be the domain of every club`],
  );
}

/** @returns the only origin whose pages may use the passkeys of a club's students, or of administrators */
export function originOf({ address }: PasskeySite, slug = ''): string {
  return new URL(address.replaceAll('{slug}', slug)).origin;
}

const anySlug = 'any-club';
const hostOf = (address: string) => {
  const url = address.replaceAll('{slug}', anySlug);
  return URL.canParse(url) ? new URL(url).hostname : '';
};

function domainOfAllClubs(classroomUrl: string): string {
  const labels = hostOf(classroomUrl).split('.');
  return labels.slice(labels.findLastIndex((label) => label.includes(anySlug)) + 1).join('.');
}

function isWithin(host: string, domain: string): boolean {
  return domain !== '' && !domain.includes(anySlug) && (host === domain || host.endsWith(`.${domain}`));
}
