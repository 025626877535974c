/** Reads the settings that apply to the mail domains of all clubs from the configuration. */
import { textResolver } from '../../../platform/infra/dns-text.ts';
import { addressIn } from '../../../platform/infra/smtp/smtp.ts';
import type { MailDomainSettings } from './domains.ts';

/**
 * @param mail `from`: the platform's address, with or without a name; `dnsServers`: name servers as `address:port`, or an empty list
 * for the system's name servers
 */
export function mailDomainSettings(mail: {
  from: string;
  spfInclude: string | undefined;
  dnsServers: readonly string[];
  warmUp: readonly number[];
  domainWarmUp: readonly number[];
}): MailDomainSettings {
  return {
    resolveText: textResolver(mail.dnsServers),
    platformAddress: addressIn(mail.from),
    warmUps: { clubs: mail.warmUp, domains: mail.domainWarmUp },
    spfInclude: mail.spfInclude,
  };
}
