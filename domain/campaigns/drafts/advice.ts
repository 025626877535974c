/** Finds warnings that an administrator should read before a campaign is sent. A warning does not prevent the sending (CAMP-42). */
import type { RecordOf } from '../../../contract/contract.ts';
import { MailDomain } from '../../../entities/mail/mail-domain.ts';
import type { DomainStatus } from '../../../entities/mail/values.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { limitOfDay } from '../../mail/bounds/bulk-days.ts';
import type { MailDomainSettings } from '../../mail/domains/domains.ts';
import { schedulingProblems } from './checks.ts';
import { findImages, imageIdsOf } from './images.ts';
import { htmlBytesOf, type PreviewDeps } from './preview.ts';
import { findCampaign, type CampaignRow } from '../records.ts';

type Problem = RecordOf<'CampaignProblem'>;

/** Many mailboxes cut off HTML beyond this number of bytes. */
const longestHtml = 102_000;
/** A picture with more bytes than this gets a warning. */
const heavyPicture = 1_000_000;
/**
 * The rates of bounces and complaints are computed from the club's last mails, at most `most` mails. There is no warning about a rate if
 * there are fewer than `least` mails.
 */
const rated = { most: 10_000, least: 200, campaigns: 5, days: 90 } as const;
/** Warnings start well below the rates that pause a campaign, so that the club has time to act. */
const high = { bounces: 0.02, complaints: 0.001 } as const;

/** @throws DomainError not_found */
export async function checkCampaign(
  deps: PreviewDeps & { mailDomains: MailDomainSettings },
  clubId: Id,
  campaignId: Id,
  now: Date,
): Promise<RecordOf<'CampaignChecks'>> {
  const { db, mailDomains } = deps;
  const campaign = await findCampaign(db, clubId, campaignId);
  const domain = await db.manager.findOneBy(MailDomain, { clubId });
  const isProven = domain?.status === 'proven';
  const bound = await limitOfDay(
    db,
    clubId,
    { domainProvenAt: isProven ? domain.firstProvenAt : null, warmUps: mailDomains.warmUps },
    now,
  );
  const htmlBytes = await sizeOf(deps, campaign);
  const recent = await recentRates(db, clubId, now);
  const { problems, count } = await schedulingProblems(db, campaign, now);
  return {
    problems,
    problem_count: count,
    warnings: [
      ...altWarnings(campaign),
      ...(await imageWarnings(db, campaign)),
      ...(htmlBytes !== undefined && htmlBytes > longestHtml
        ? [warning('$.content.blocks', 'too_large', `Some mailboxes cut off the e-mail after ${longestHtml} bytes.`)]
        : []),
      ...domainWarnings(domain?.status),
      ...rateWarnings(recent),
    ],
    from: {
      address: isProven ? `${domain.localPart}@${domain.domain}` : mailDomains.platformAddress,
      aligned: isProven,
      ...(domain && { domain: domain.domain, domain_status: domain.status }),
    },
    ...(bound !== null && { mails_of_day: bound }),
    ...(htmlBytes !== undefined && { html_bytes: htmlBytes }),
    ...(recent.mails > 0 && {
      recent: {
        mails: recent.mails,
        bounce_rate: recent.bounced / recent.mails,
        complaint_rate: recent.complained / recent.mails,
      },
    }),
  };
}

const warning = (path: string, code: string, message: string): Problem => ({ path, code, message });

/** @returns undefined if the e-mail cannot be compiled because it has problems */
async function sizeOf(deps: PreviewDeps, campaign: CampaignRow): Promise<number | undefined> {
  try {
    return await htmlBytesOf(deps, campaign);
  } catch (error) {
    if (error instanceof DomainError && error.code === 'campaign_has_problems') return undefined;
    throw error;
  }
}

function altWarnings({ content: { blocks = [] } }: CampaignRow): Problem[] {
  return blocks.flatMap(({ kind, alt = '' }, index) =>
    kind === 'image' && alt.trim() === ''
      ? [
          warning(
            `$.content.blocks[${index}].alt`,
            'missing_alt',
            'The image has no alternative text. Blind readers, and readers with images switched off, cannot know what it shows.',
          ),
        ]
      : [],
  );
}

/** Finds pictures that look different in the e-mail than in the library, or that load slowly. */
async function imageWarnings(db: Queries, { clubId, content }: CampaignRow): Promise<Problem[]> {
  const images = await findImages(db, clubId, imageIdsOf(content));
  return (content.blocks ?? []).flatMap(({ media_id: mediaId = '' }, index) => {
    const path = `$.content.blocks[${index}].media_id`;
    const picture = images.get(mediaId)?.picture;
    if (!picture) return [];
    return [
      ...(picture.standsStill
        ? [
            warning(
              path,
              'image_stands_still',
              'The e-mail shows only the first frame of this animation. Use a GIF or WEBP with fewer frames or pixels.',
            ),
          ]
        : []),
      ...(picture.sizeBytes > heavyPicture
        ? [warning(path, 'image_heavy', `The picture has more than ${heavyPicture} bytes and loads slowly on a phone.`)]
        : []),
    ];
  });
}

const domainMessages: Record<DomainStatus | 'none', string | undefined> = {
  proven: undefined,
  none: "The club has no mail domain, so the e-mail comes from the platform's address, under the platform's DMARC policy.",
  unproven: "The club's mail domain is not verified yet, so the e-mail comes from the platform's address.",
  lapsed:
    "The DNS records of the club's mail domain are not correct any more, so the e-mail comes from the platform's address.",
};

function domainWarnings(status: DomainStatus | 'none' = 'none'): Problem[] {
  const words = domainMessages[status];
  return words === undefined ? [] : [warning('$', `domain_${status}`, words)];
}

interface Rates {
  mails: number;
  bounced: number;
  complained: number;
}

/** Reads only the last campaigns and a limited number of their mails, so that the cost does not grow over the years. */
async function recentRates(db: Queries, clubId: Id, now: Date): Promise<Rates> {
  const since = new Date(now.getTime() - rated.days * 86_400_000);
  const row = await db.one<Rates>(sql`
    WITH recent AS (
      SELECT id, frozen_at FROM campaigns WHERE club_id = ${clubId} AND frozen_at > ${since} ORDER BY frozen_at DESC LIMIT ${rated.campaigns})
    SELECT count(*)::int AS mails, count(bounced_at)::int AS bounced, count(complained_at)::int AS complained
      FROM (SELECT mail.bounced_at, mail.complained_at FROM recent, LATERAL (
              SELECT bounced_at, complained_at FROM mails WHERE campaign_id = recent.id AND status = 'sent' ORDER BY seq DESC LIMIT ${rated.most}) AS mail
             ORDER BY recent.frozen_at DESC LIMIT ${rated.most}) AS mails`);
  return row ?? { mails: 0, bounced: 0, complained: 0 };
}

function rateWarnings({ mails, bounced, complained }: Rates): Problem[] {
  if (mails < rated.least) return [];
  const percent = (count: number) => `${((100 * count) / mails).toFixed(2)} %`;
  return [
    ...(bounced / mails > high.bounces
      ? [
          warning(
            '$.audience',
            'high_bounce_rate',
            `${percent(bounced)} of the club's last ${mails} mails bounced. Leave out addresses that are no longer in use.`,
          ),
        ]
      : []),
    ...(complained / mails > high.complaints
      ? [
          warning(
            '$.audience',
            'high_complaint_rate',
            `${percent(complained)} of the club's last ${mails} mails were reported as spam. Write only to students who expect it.`,
          ),
        ]
      : []),
  ];
}
