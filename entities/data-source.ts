/** The connection to Postgres: every entity, every migration, one pool. */
import { Socket } from 'node:net';
import pg from 'pg';
import { DataSource } from 'typeorm';
import type { Secret } from '../platform/core/secret.ts';
import { Cohort } from './access/cohort.ts';
import { AccessDelivery } from './access/access-delivery.ts';
import { Enrollment } from './access/enrollment.ts';
import { RegistrationLink } from './access/registration-link.ts';
import { RegistrationLinkClaim } from './access/registration-link-claim.ts';
import { RegistrationLinkDelivery } from './access/registration-link-delivery.ts';
import { Agent } from './agents/agent.ts';
import { AgentAnswer } from './agents/agent-answer.ts';
import { AgentAnswerDelta } from './agents/agent-answer-delta.ts';
import { AgentCall } from './agents/agent-call.ts';
import { AgentCharge } from './agents/agent-charge.ts';
import { AgentCitation } from './agents/agent-citation.ts';
import { AgentConversation } from './agents/agent-conversation.ts';
import { AgentMaterial } from './agents/agent-material.ts';
import { AgentMonth } from './agents/agent-month.ts';
import { AgentPassage } from './agents/agent-passage.ts';
import { AgentQuestion } from './agents/agent-question.ts';
import { AgentQuestionImage } from './agents/agent-question-image.ts';
import { AgentSource } from './agents/agent-source.ts';
import { AgentWord } from './agents/agent-word.ts';
import { ClubAiMonth } from './agents/club-ai-month.ts';
import { Assignment } from './assignments/assignment.ts';
import { AssignmentAttempt } from './assignments/assignment-attempt.ts';
import { AssignmentAttemptFile } from './assignments/assignment-attempt-file.ts';
import { AssignmentExtension } from './assignments/assignment-extension.ts';
import { AssignmentReview } from './assignments/assignment-review.ts';
import { AssignmentSubmission } from './assignments/assignment-submission.ts';
import { CommunityComment } from './community/community-comment.ts';
import { CommunityMembership } from './community/community-membership.ts';
import { CommunityModeration } from './community/community-moderation.ts';
import { CommunityPost } from './community/community-post.ts';
import { CommunityPostFile } from './community/community-post-file.ts';
import { CommunityReaction } from './community/community-reaction.ts';
import { CommunityReport } from './community/community-report.ts';
import { CommunitySpace } from './community/community-space.ts';
import { SpaceDigest } from './community/space-digest.ts';
import { AddOn } from './billing/add-on.ts';
import { BillingEvent } from './billing/billing-event.ts';
import { ClubFeatureChange } from './billing/club-feature-change.ts';
import { ClubPlan } from './billing/club-plan.ts';
import { ClubStudentChange } from './billing/club-student-change.ts';
import { ClubStudentCount } from './billing/club-student-count.ts';
import { OverageTurn } from './billing/overage-turn.ts';
import { Overage } from './billing/overage.ts';
import { StudentImportAddress } from './access/student-import-address.ts';
import { StudentImportRow } from './access/student-import-row.ts';
import { StudentImport } from './access/student-import.ts';
import { Automation } from './automations/automation.ts';
import { AutomationCourseLook } from './automations/automation-course-look.ts';
import { AutomationCourseWatch } from './automations/automation-course-watch.ts';
import { AutomationReference } from './automations/automation-reference.ts';
import { AutomationRun } from './automations/automation-run.ts';
import { AutomationRunStep } from './automations/automation-run-step.ts';
import { AutomationStepChange } from './automations/automation-step-change.ts';
import { AutomationStepTally } from './automations/automation-step-tally.ts';
import { AutomationVersion } from './automations/automation-version.ts';
import { Campaign } from './campaigns/campaign.ts';
import { TestMail } from './campaigns/test-mail.ts';
import { Club } from './clubs/club.ts';
import { ClubBranding } from './clubs/club-branding.ts';
import { ClubSlug } from './clubs/club-slug.ts';
import { Invitation } from './clubs/invitation.ts';
import { Membership } from './clubs/membership.ts';
import { FailingStep } from './facts/failing-step.ts';
import { Fact } from './facts/fact.ts';
import { ListTally } from './facts/list-tally.ts';
import { ListTallyChange } from './facts/list-tally-change.ts';
import { Release } from './facts/release.ts';
import { RunningProcess } from './facts/running-process.ts';
import { SchemaContraction } from './facts/schema-contraction.ts';
import { UpkeepRound } from './facts/upkeep-round.ts';
import { Wake } from './facts/wake.ts';
import { AdministratorSession } from './identity/administrator-session.ts';
import { Administrator } from './identity/administrator.ts';
import { OneTimeToken } from './identity/one-time-token.ts';
import { StudentSession } from './identity/student-session.ts';
import { Student } from './identity/student.ts';
import { Certificate } from './learning/certificate.ts';
import { CertificateFile } from './learning/certificate-file.ts';
import { CourseCompletion } from './learning/course-completion.ts';
import { CourseCompletionLook } from './learning/course-completion-look.ts';
import { Mentorship } from './mentorships/mentorship.ts';
import { MentorshipDelivery } from './mentorships/mentorship-delivery.ts';
import { MentorshipSession } from './mentorships/mentorship-session.ts';
import { Course } from './learning/course.ts';
import { LessonComment } from './learning/lesson-comment.ts';
import { LessonProgress } from './learning/lesson-progress.ts';
import { Lesson } from './learning/lesson.ts';
import { Level } from './learning/level.ts';
import { Module } from './learning/module.ts';
import { PointAward } from './learning/point-award.ts';
import { StudentLevel } from './learning/student-level.ts';
import { StudentTag } from './learning/student-tag.ts';
import { Tag } from './learning/tag.ts';
import { RateLimitCounter } from './limits/rate-limit-counter.ts';
import { ClubMailDay } from './mail/club-mail-day.ts';
import { SignUpNetwork } from './identity/sign-up-network.ts';
import { CodeFailureCount } from './mail/code-failure-count.ts';
import { Mail } from './mail/mail.ts';
import { ClubBulkDay } from './mail/club-bulk-day.ts';
import { MailDomain } from './mail/mail-domain.ts';
import { MailClick } from './mail/mail-click.ts';
import { MailLink } from './mail/mail-link.ts';
import { ClubMailText } from './mail/club-mail-text.ts';
import { MailSender } from './mail/mail-sender.ts';
import { MailSoftBounce } from './mail/mail-soft-bounce.ts';
import { MailSuppression } from './mail/mail-suppression.ts';
import { TransactionalMail } from './mail/transactional-mail.ts';
import { MediaFavorite } from './media/media-favorite.ts';
import { MediaFolder } from './media/media-folder.ts';
import { LeftoverObject } from './media/leftover-object.ts';
import { MediaMove } from './media/media-move.ts';
import { MediaRendition } from './media/media-rendition.ts';
import { MediaTrack } from './media/media-track.ts';
import { MediaTranscription } from './media/media-transcription.ts';
import { MediaUpload } from './media/media-upload.ts';
import { MediaUse } from './media/media-use.ts';
import { ClubStorageChange } from './media/club-storage-change.ts';
import { ClubStorage } from './media/club-storage.ts';
import { Media } from './media/media.ts';
import { FirstSlice1763700000000 } from './migrations/1763700000000-first-slice.ts';
import { WebhookEngine1763720000000 } from './migrations/1763720000000-webhook-engine.ts';
import { WebhookHistory1763730000000 } from './migrations/1763730000000-webhook-history.ts';
import { Access1763740000000 } from './migrations/1763740000000-access.ts';
import { RegistrationLinks1763741000000 } from './migrations/1763741000000-registration-links.ts';
import { Certificates1763744000000 } from './migrations/1763744000000-certificates.ts';
import { Sales1763745000000 } from './migrations/1763745000000-sales.ts';
import { Billing1763746000000 } from './migrations/1763746000000-billing.ts';
import { Learning1763742000000 } from './migrations/1763742000000-learning.ts';
import { Standing1763743000000 } from './migrations/1763743000000-standing.ts';
import { Lists1763748000000 } from './migrations/1763748000000-lists.ts';
import { NoticeAddresses1763749000000 } from './migrations/1763749000000-notice-addresses.ts';
import { SubscriptionTargets1763749100000 } from './migrations/1763749100000-subscription-targets.ts';
import { StudentImportAddresses1763750000000 } from './migrations/1763750000000-student-import-addresses.ts';
import { StudentImports1763747000000 } from './migrations/1763747000000-student-imports.ts';
import { Agents1763760000000 } from './migrations/1763760000000-agents.ts';
import { AgentMonths1763767000000 } from './migrations/1763767000000-agent-months.ts';
import { MediaErasure1763761000000 } from './migrations/1763761000000-media-erasure.ts';
import { PassagesInPlace1763763000000 } from './migrations/1763763000000-passages-in-place.ts';
import { AgentDeliveries1763765000000 } from './migrations/1763765000000-agent-deliveries.ts';
import { Retrieval1763764000000 } from './migrations/1763764000000-retrieval.ts';
import { OpenCharges1763768000000 } from './migrations/1763768000000-open-charges.ts';
import { WakeNumbers1763770000000 } from './migrations/1763770000000-wake-numbers.ts';
import { LeasedRows1763771000000 } from './migrations/1763771000000-leased-rows.ts';
import { FailingRows1763772000000 } from './migrations/1763772000000-failing-rows.ts';
import { Priorities1763773000000 } from './migrations/1763773000000-priorities.ts';
import { CodeFailures1795360100000 } from './migrations/1795360100000-code-failures.ts';
import { PendingSignUps1795360101000 } from './migrations/1795360101000-pending-sign-ups.ts';
import { MailDays1795360103000 } from './migrations/1795360103000-mail-days.ts';
import { OpeningPlans1795360102000 } from './migrations/1795360102000-opening-plans.ts';
import { SessionsAndAddresses1795351000000 } from './migrations/1795351000000-sessions-and-addresses.ts';
import { Automations1795366800000 } from './migrations/1795366800000-automations.ts';
import { Campaigns1795360000000 } from './migrations/1795360000000-campaigns.ts';
import { RecordedFacts1795352520000 } from './migrations/1795352520000-recorded-facts.ts';
import { RemovedSources1795356003000 } from './migrations/1795356003000-removed-sources.ts';
import { FailingSteps1795353600000 } from './migrations/1795353600000-failing-steps.ts';
import { MediaInspection1795354367000 } from './migrations/1795354367000-media-inspection.ts';
import { VideoRenditions1795387197000 } from './migrations/1795387197000-video-renditions.ts';
import { MediaRenditions1795385030000 } from './migrations/1795385030000-media-renditions.ts';
import { MediaUploads1795388500000 } from './migrations/1795388500000-media-uploads.ts';
import { DeliveryKinds1795398000000 } from './migrations/1795398000000-delivery-kinds.ts';
import { Avatars1795414000000 } from './migrations/1795414000000-avatars.ts';
import { FormerMentors1795425100000 } from './migrations/1795425100000-former-mentors.ts';
import { SessionLists1795451900000 } from './migrations/1795451900000-session-lists.ts';
import { DirectAttempts1795690000000 } from './migrations/1795690000000-direct-attempts.ts';
import { WebhookPartitions1795700000000 } from './migrations/1795700000000-webhook-partitions.ts';
import { VaultSecrets1795710000000 } from './migrations/1795710000000-vault-secrets.ts';
import { SealedValues1795711000000 } from './migrations/1795711000000-sealed-values.ts';
import { Releases1795720000000 } from './migrations/1795720000000-releases.ts';
import { Traces1795730000000 } from './migrations/1795730000000-traces.ts';
import { SignUpNetworks1795741000000 } from './migrations/1795741000000-sign-up-networks.ts';
import { Inviters1795748000000 } from './migrations/1795748000000-inviters.ts';
import { AddressesOfGoneFiles1795743000000 } from './migrations/1795743000000-addresses-of-gone-files.ts';
import { OpenAddresses1795743100000 } from './migrations/1795743100000-open-addresses.ts';
import { AttemptErrorCodes1795749000000 } from './migrations/1795749000000-attempt-error-codes.ts';
import { OverloadedEndpoints1795749100000 } from './migrations/1795749100000-overloaded-endpoints.ts';
import { CourseCompletionLooks1795750000000 } from './migrations/1795750000000-course-completion-looks.ts';
import { StudentsOfALesson1795750100000 } from './migrations/1795750100000-students-of-a-lesson.ts';
import { WarningsOfSources1795753000000 } from './migrations/1795753000000-warnings-of-sources.ts';
import { SourcesByReader1795753000100 } from './migrations/1795753000100-sources-by-reader.ts';
import { PassagesByTime1795753000200 } from './migrations/1795753000200-passages-by-time.ts';
import { ExaminedFiles1795752000000 } from './migrations/1795752000000-examined-files.ts';
import { UnexaminedFiles1795752100000 } from './migrations/1795752100000-unexamined-files.ts';
import { LanguageOfCertificates1795761000000 } from './migrations/1795761000000-language-of-certificates.ts';
import { MediaTracks1795753000300 } from './migrations/1795753000300-media-tracks.ts';
import { SearchInEveryScript1795762000000 } from './migrations/1795762000000-search-in-every-script.ts';
import { FoldedNames1795762100000 } from './migrations/1795762100000-folded-names.ts';
import { IndexesOfFoldedNames1795762100100 } from './migrations/1795762100100-indexes-of-folded-names.ts';
import { ClubSlugs1795764000000 } from './migrations/1795764000000-club-slugs.ts';
import { LanguagesOfPeople1795765000000 } from './migrations/1795765000000-languages-of-people.ts';
import { ClubBranding1795765000100 } from './migrations/1795765000100-club-branding.ts';
import { MailPictures1795751000000 } from './migrations/1795751000000-mail-pictures.ts';
import { UnknownMailPictures1795751100000 } from './migrations/1795751100000-unknown-mail-pictures.ts';
import { Refunds1795745000000 } from './migrations/1795745000000-refunds.ts';
import { TurnsOfStreams1795600000000 } from './migrations/1795600000000-turns-of-streams.ts';
import { PdfPages1795399700000 } from './migrations/1795399700000-pdf-pages.ts';
import { Mentorships1795402100000 } from './migrations/1795402100000-mentorships.ts';
import { AgentPictures1795408469000 } from './migrations/1795408469000-agent-pictures.ts';
import { SpaceDigests1795409600000 } from './migrations/1795409600000-space-digests.ts';
import { WakesOfRuns1795411200000 } from './migrations/1795411200000-wakes-of-runs.ts';
import { HiddenPosts1795413800000 } from './migrations/1795413800000-hidden-posts.ts';
import { MediaMoves1795389477000 } from './migrations/1795389477000-media-moves.ts';
import { CommunityMemberships1795399000000 } from './migrations/1795399000000-community-memberships.ts';
import { CommunityPosts1795399100000 } from './migrations/1795399100000-community-posts.ts';
import { MediaProcessing1795378000000 } from './migrations/1795378000000-media-processing.ts';
import { CertificateFiles1795360200000 } from './migrations/1795360200000-certificate-files.ts';
import { MailDomains1795368800000 } from './migrations/1795368800000-mail-domains.ts';
import { TestMails1795368900000 } from './migrations/1795368900000-test-mails.ts';
import { StudentEmailKeys1795362600000 } from './migrations/1795362600000-student-email-keys.ts';
import { ImportTurns1795362500000 } from './migrations/1795362500000-import-turns.ts';
import { MailTracking1795362859000 } from './migrations/1795362859000-mail-tracking.ts';
import { MailNotices1795365700000 } from './migrations/1795365700000-mail-notices.ts';
import { MailTallies1795369173000 } from './migrations/1795369173000-mail-tallies.ts';
import { CampaignRetention1795369300000 } from './migrations/1795369300000-campaign-retention.ts';
import { ClubStorage1795374100000 } from './migrations/1795374100000-club-storage.ts';
import { MediaLibrary1795374147000 } from './migrations/1795374147000-media-library.ts';
import { OverageTurns1795375200000 } from './migrations/1795375200000-overage-turns.ts';
import { LeftMails1795377237000 } from './migrations/1795377237000-left-mails.ts';
import { MediaExpiry1795377900000 } from './migrations/1795377900000-media-expiry.ts';
import { Assignments1795378414000 } from './migrations/1795378414000-assignments.ts';
import { MediaLists1795378500000 } from './migrations/1795378500000-media-lists.ts';
import { MediaPlaces1795378510000 } from './migrations/1795378510000-media-places.ts';
import { AssignmentMedia1795385000000 } from './migrations/1795385000000-assignment-media.ts';
import { OcrOfSources1795763000000 } from './migrations/1795763000000-ocr-of-sources.ts';
import { SourcesByOcr1795763000100 } from './migrations/1795763000100-sources-by-ocr.ts';
import { MediaTranscriptions1795763000200 } from './migrations/1795763000200-media-transcriptions.ts';
import { SnakeCaseNames } from './naming.ts';
import { Product } from './sales/product.ts';
import { ProductDelivery } from './sales/product-delivery.ts';
import { Purchase } from './sales/purchase.ts';
import { SalesConnection } from './sales/sales-connection.ts';
import { Repository } from './repositories/repository.ts';
import { RepositoryItem } from './repositories/repository-item.ts';
import { VaultSecret } from './keys/vault-secret.ts';
import { SalesNotice } from './sales/sales-notice.ts';
import { SubscriptionMark } from './sales/subscription-mark.ts';
import { Subscription } from './sales/subscription.ts';
import { WebhookAttempt } from './webhooks/webhook-attempt.ts';
import { WebhookBody } from './webhooks/webhook-body.ts';
import { WebhookDelivery } from './webhooks/webhook-delivery.ts';
import { WebhookEndpoint } from './webhooks/webhook-endpoint.ts';
import { WebhookEvent } from './webhooks/webhook-event.ts';
import { WebhookTallyChange } from './webhooks/webhook-tally-change.ts';
import { WebhookTally } from './webhooks/webhook-tally.ts';

/**
 * A connection whose other end has vanished without a word (a failover, a frozen host) would keep a query, and whoever
 * waits for it, for ever: the server's own time limits are gone with the server. Longer than those, in milliseconds.
 */
const silenceMs = 35_000;

/** @returns a socket for a connection to Postgres that ends itself after a silence; the pool then makes a new one */
export function socketThatNoticesSilence(limitMs = silenceMs): Socket {
  const socket = new Socket();
  return socket.setTimeout(limitMs, () => socket.destroy(new Error('Postgres has fallen silent')));
}

/** Shorter than every lease: a wait for a lock fails before another process takes the row up (ENG-2). */
const lockTimeoutMs = 5_000;

/**
 * The time limits of our role in Postgres, in milliseconds. They stand on the role, because a pooler refuses or drops them where a
 * connection asks for them at its start (pgbouncer/pgbouncer#525). The command `setup` puts them there.
 */
export const limitsOfTime = {
  statement_timeout: 30_000, // no statement of ours is meant to take seconds; one that does must not hold locks for ever
  lock_timeout: lockTimeoutMs,
  idle_in_transaction_session_timeout: 60_000, // a process that hangs inside a transaction gives its locks back
} as const;

/** For what may take long: the session goes without the limits of its role. */
export const withoutLimits = Object.keys(limitsOfTime)
  .map((name) => `SET ${name} = 0`)
  .join('; ');

/**
 * For migrations, beside the service: whoever wants a table waits behind a migration that waits for it, so that must not wait long. It is tried
 * again (entities/migrate.ts). One that builds an index concurrently holds up nobody, and sets `lock_timeout` to 0 meanwhile.
 */
export const migrationLockMs = 2_000;

const entities = [
  AddOn,
  Administrator,
  AdministratorSession,
  Agent,
  AgentAnswer,
  AgentAnswerDelta,
  AgentCall,
  AgentCharge,
  AgentCitation,
  AgentConversation,
  AgentMaterial,
  AgentMonth,
  AgentPassage,
  AgentQuestion,
  AgentQuestionImage,
  AgentSource,
  AgentWord,
  Assignment,
  AssignmentAttempt,
  AssignmentAttemptFile,
  AssignmentExtension,
  AssignmentReview,
  AssignmentSubmission,
  Certificate,
  CertificateFile,
  BillingEvent,
  Automation,
  AutomationCourseLook,
  AutomationCourseWatch,
  AutomationReference,
  AutomationRun,
  AutomationRunStep,
  AutomationStepChange,
  AutomationStepTally,
  AutomationVersion,
  Campaign,
  TestMail,
  Club,
  ClubBranding,
  ClubMailText,
  ClubSlug,
  ClubAiMonth,
  ClubFeatureChange,
  ClubPlan,
  ClubStudentChange,
  ClubStudentCount,
  Cohort,
  CommunitySpace,
  Course,
  CourseCompletion,
  CourseCompletionLook,
  AccessDelivery,
  Enrollment,
  Fact,
  FailingStep,
  Invitation,
  Lesson,
  LessonComment,
  LessonProgress,
  Level,
  ListTally,
  ListTallyChange,
  ClubStorage,
  ClubStorageChange,
  Media,
  MediaFavorite,
  MediaFolder,
  LeftoverObject,
  MediaMove,
  MediaRendition,
  MediaTrack,
  MediaTranscription,
  MediaUpload,
  MediaUse,
  Membership,
  Module,
  OneTimeToken,
  Product,
  ProductDelivery,
  Overage,
  OverageTurn,
  PointAward,
  RateLimitCounter,
  RegistrationLink,
  Release,
  RunningProcess,
  SchemaContraction,
  CommunityComment,
  CommunityMembership,
  CommunityModeration,
  CommunityPost,
  CommunityPostFile,
  CommunityReaction,
  CommunityReport,
  RegistrationLinkClaim,
  RegistrationLinkDelivery,
  Repository,
  Mentorship,
  MentorshipDelivery,
  MentorshipSession,
  SpaceDigest,
  RepositoryItem,
  Purchase,
  RateLimitCounter,
  SalesConnection,
  SalesNotice,
  Student,
  StudentLevel,
  StudentImport,
  StudentImportAddress,
  StudentImportRow,
  StudentSession,
  StudentTag,
  Tag,
  Subscription,
  SubscriptionMark,
  Mail,
  ClubBulkDay,
  MailDomain,
  MailClick,
  MailLink,
  MailSender,
  MailSoftBounce,
  MailSuppression,
  TransactionalMail,
  CodeFailureCount,
  SignUpNetwork,
  ClubMailDay,
  UpkeepRound,
  Wake,
  WebhookAttempt,
  WebhookBody,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEvent,
  WebhookTally,
  WebhookTallyChange,
  VaultSecret,
];

export const migrations = [
  FirstSlice1763700000000,
  WebhookEngine1763720000000,
  WebhookHistory1763730000000,
  Access1763740000000,
  RegistrationLinks1763741000000,
  Learning1763742000000,
  Standing1763743000000,
  Certificates1763744000000,
  Sales1763745000000,
  Billing1763746000000,
  StudentImports1763747000000,
  Lists1763748000000,
  NoticeAddresses1763749000000,
  SubscriptionTargets1763749100000,
  StudentImportAddresses1763750000000,
  Agents1763760000000,
  MediaErasure1763761000000,
  PassagesInPlace1763763000000,
  Retrieval1763764000000,
  AgentDeliveries1763765000000,
  AgentMonths1763767000000,
  OpenCharges1763768000000,
  WakeNumbers1763770000000,
  LeasedRows1763771000000,
  FailingRows1763772000000,
  Priorities1763773000000,
  SessionsAndAddresses1795351000000,
  RecordedFacts1795352520000,
  RemovedSources1795356003000,
  FailingSteps1795353600000,
  MediaInspection1795354367000,
  Campaigns1795360000000,
  CodeFailures1795360100000,
  PendingSignUps1795360101000,
  OpeningPlans1795360102000,
  MailDays1795360103000,
  CertificateFiles1795360200000,
  ImportTurns1795362500000,
  StudentEmailKeys1795362600000,
  MailTracking1795362859000,
  MailNotices1795365700000,
  Automations1795366800000,
  MailDomains1795368800000,
  TestMails1795368900000,
  MailTallies1795369173000,
  CampaignRetention1795369300000,
  ClubStorage1795374100000,
  MediaLibrary1795374147000,
  OverageTurns1795375200000,
  LeftMails1795377237000,
  MediaExpiry1795377900000,
  MediaProcessing1795378000000,
  Assignments1795378414000,
  MediaLists1795378500000,
  MediaPlaces1795378510000,
  AssignmentMedia1795385000000,
  OcrOfSources1795763000000,
  SourcesByOcr1795763000100,
  MediaTranscriptions1795763000200,
  MediaRenditions1795385030000,
  VideoRenditions1795387197000,
  MediaUploads1795388500000,
  MediaMoves1795389477000,
  DeliveryKinds1795398000000,
  CommunityMemberships1795399000000,
  CommunityPosts1795399100000,
  PdfPages1795399700000,
  Mentorships1795402100000,
  AgentPictures1795408469000,
  SpaceDigests1795409600000,
  WakesOfRuns1795411200000,
  HiddenPosts1795413800000,
  Avatars1795414000000,
  FormerMentors1795425100000,
  SessionLists1795451900000,
  TurnsOfStreams1795600000000,
  DirectAttempts1795690000000,
  WebhookPartitions1795700000000,
  VaultSecrets1795710000000,
  SealedValues1795711000000,
  Releases1795720000000,
  Traces1795730000000,
  SignUpNetworks1795741000000,
  Inviters1795748000000,
  AddressesOfGoneFiles1795743000000,
  OpenAddresses1795743100000,
  AttemptErrorCodes1795749000000,
  OverloadedEndpoints1795749100000,
  CourseCompletionLooks1795750000000,
  StudentsOfALesson1795750100000,
  WarningsOfSources1795753000000,
  SourcesByReader1795753000100,
  PassagesByTime1795753000200,
  MediaTracks1795753000300,
  SearchInEveryScript1795762000000,
  FoldedNames1795762100000,
  IndexesOfFoldedNames1795762100100,
  ClubSlugs1795764000000,
  LanguagesOfPeople1795765000000,
  ClubBranding1795765000100,
  LanguageOfCertificates1795761000000,
  MailPictures1795751000000,
  UnknownMailPictures1795751100000,
  Refunds1795745000000,
  ExaminedFiles1795752000000,
  UnexaminedFiles1795752100000,
];

export interface DatabaseSettings {
  url: Secret;
  /** The same database, where a session of ours has a connection of its own. */
  directUrl?: Secret | undefined;
  /** Connections that a process holds at most. */
  poolSize: number;
  /** How long a statement waits for a connection at most, be it for a free one of the pool or for Postgres to answer. */
  connectWithinMs?: number;
}

/** @returns where LISTEN and session locks work */
export const directUrlOf = ({ directUrl, url }: Pick<DatabaseSettings, 'directUrl' | 'url'>): Secret =>
  directUrl ?? url;

/**
 * @param options.patient by the direct address, without limits of time, for migrations: an index over millions of rows takes minutes, in silence
 * @param options.reserved connections of the pool that only records take (ENG-18)
 * @param options.Pool of connections, in place of the driver's own
 * @returns a data source that is not yet connected: call `initialize()`
 */
export function createDataSource(
  database: DatabaseSettings,
  applicationName: string,
  {
    patient = false,
    reserved = 0,
    Pool = pg.Pool,
  }: { patient?: boolean; reserved?: number; Pool?: typeof pg.Pool } = {},
): DataSource {
  return new DataSource({
    type: 'postgres',
    url: (patient ? directUrlOf(database) : database.url).reveal(),
    applicationName,
    poolSize: database.poolSize,
    driver: Object.create(pg, { Pool: { value: Pool } }) as typeof pg,
    connectTimeoutMS: database.connectWithinMs ?? 5_000, // later than that it is down: fail, and let readiness say so
    extra: {
      // Ended by the server before anybody has it in hand, a connection tells nobody, and that would end the process: its
      // next query fails all the same.
      onConnect(connection: pg.Client) {
        connection.on('error', () => undefined);
        return patient ? connection.query(`${withoutLimits}; SET lock_timeout = ${migrationLockMs}`) : undefined;
      },
      keepAlive: true,
      reserved,
      ...(!patient && { stream: () => socketThatNoticesSilence() }),
    },
    entities,
    migrations,
    migrationsTransactionMode: 'each',
    namingStrategy: new SnakeCaseNames(),
    synchronize: false,
  });
}
