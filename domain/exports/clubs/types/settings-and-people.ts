/** The settings of a club, its people, and what they bought. */
import { listDeliveries } from '../../../access/deliveries/deliveries.ts';
import { listEnrollments } from '../../../access/enrollments/listing.ts';
import { listImports } from '../../../access/imports/imports.ts';
import { listLinks } from '../../../access/links/links.ts';
import { listAddOns } from '../../../billing/add-ons.ts';
import { readClubPlan } from '../../../billing/club-plan.ts';
import { listJobs } from '../../../bulk/jobs.ts';
import { readBranding } from '../../../clubs/branding.ts';
import { getIdentityProvider } from '../../../clubs/identity-provider.ts';
import { listMembers } from '../../../clubs/members.ts';
import { findClub } from '../../../clubs/settings.ts';
import { getSignInRules } from '../../../clubs/sign-in-rules.ts';
import { listKeys } from '../../../identity/api-keys/api-keys.ts';
import { listStudents } from '../../../identity/students.ts';
import { listLevels } from '../../../learning/engagement/levels.ts';
import { listAwards } from '../../../learning/engagement/points.ts';
import { readStanding } from '../../../learning/engagement/standing.ts';
import { listTags } from '../../../learning/engagement/tags.ts';
import { listSuppressions } from '../../../mail/suppressions/suppressions.ts';
import { listNotices } from '../../../sales/notices/notices.ts';
import { listConnections } from '../../../sales/platforms/connections.ts';
import { listPurchases, listSubscriptions } from '../../../sales/purchases/listing.ts';
import { listProducts } from '../../../sales/purchases/products.ts';
import { below, chained, idOf, listed, listedBelow, single } from '../pages.ts';
import type { RecordType } from '../record-type.ts';

export const settings: readonly RecordType[] = [
  { name: 'Club', walk: single(({ db, clubId }) => findClub(db, clubId)) },
  { name: 'Branding', walk: single(({ db, publicUrl, clubId }) => readBranding(db, publicUrl, clubId)) },
  { name: 'SignInRules', walk: single(({ db, clubId }) => getSignInRules(db, clubId)) },
  { name: 'ClubProvider', walk: single(({ db, clubId }) => getIdentityProvider(db, clubId)) },
  { name: 'ClubPlan', walk: single(({ db, clubId, now }) => readClubPlan(db, clubId, now, { showsCosts: true })) },
  { name: 'AddOn', walk: listed(({ db, clubId }, page) => listAddOns(db, clubId, page)) },
  { name: 'ApiKey', walk: listed(({ db, clubId, now }, page) => listKeys(db, clubId, page, now)) },
  { name: 'Member', walk: listed(({ db, clubId, now }, page) => listMembers(db, clubId, page, now)) },
];

const students = listed(({ db, storage, clubId }, page) => listStudents(db, storage, clubId, page));

export const people: readonly RecordType[] = [
  { name: 'Tag', walk: listed(({ db, clubId }, page) => listTags(db, clubId, page)) },
  { name: 'Level', walk: listed(({ db, clubId }, page) => listLevels(db, clubId, page)) },
  { name: 'Student', walk: students },
  {
    name: 'Standing',
    walk: below(students, idOf, async ({ db, clubId }, { id: studentId = '' }) => ({
      lines: [{ of: { studentId }, record: { ...(await readStanding(db, { clubId, studentId })) } }],
    })),
  },
  {
    name: 'PointAward',
    walk: listedBelow(students, 'studentId', ({ db, clubId }, studentId, page) =>
      listAwards(db, { clubId, studentId }, page),
    ),
  },
  { name: 'StudentImport', walk: listed(({ db, clubId }, page) => listImports(db, clubId, page)) },
  { name: 'BulkJob', walk: listed(({ db, clubId }, page) => listJobs(db, clubId, page)) },
  {
    name: 'MailSuppression',
    walk: listed(({ db, vault, clubId }, page) => listSuppressions({ db, vault }, clubId, page)),
  },
];

export const sales: readonly RecordType[] = [
  {
    name: 'Delivery',
    walk: chained(
      listed(({ db, clubId }, page) => listDeliveries(db, clubId, page)),
      listed(({ db, clubId }, page) => listDeliveries(db, clubId, { ...page, archived: true })),
    ),
  },
  {
    name: 'RegistrationLink',
    walk: listed(({ db, classroomUrl, clubId }, page) => listLinks(db, { classroomUrl }, clubId, page)),
  },
  { name: 'SalesConnection', walk: listed(({ db, clubId }, page) => listConnections(db, clubId, page)) },
  { name: 'Product', walk: listed(({ db, clubId }, page) => listProducts(db, clubId, page)) },
  { name: 'SalesNotice', walk: listed(({ db, clubId }, page) => listNotices(db, clubId, page)) },
  { name: 'Purchase', walk: listed(({ db, clubId }, page) => listPurchases(db, clubId, page)) },
  { name: 'Subscription', walk: listed(({ db, clubId }, page) => listSubscriptions(db, clubId, page)) },
  {
    name: 'Enrollment',
    walk: chained(
      listed(({ db, clubId, now }, page) => listEnrollments(db, clubId, page, now)),
      listed(({ db, clubId, now }, page) => listEnrollments(db, clubId, { ...page, revoked: true }, now)),
    ),
  },
];
