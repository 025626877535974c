/**
 * Tests which callers may call which operation. A table has a row for every operation of the contract (AUTH-4 to AUTH-8, DEC-17).
 * foreign-ids.test.ts tests ids of records of other clubs.
 */
import type { ContractOperation, OperationId, RecordOf } from '../../contract/contract.ts';
import { anyScope, scopes, type Scope } from '../../contract/rules/scopes.ts';
import { roles, type Role } from '../../entities/clubs/values.ts';
import { errorStatus, type ErrorCode } from '../../platform/core/error-codes.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildAdministrator, buildClub, buildMember, buildStudent } from '../toolkit/builders/clubs.ts';
import { endedSession, expiredSession } from '../toolkit/builders/sessions.ts';
import { call, expectError, type Answer, visible } from '../toolkit/drive/api.ts';
import {
  bodyOf,
  everyOperation,
  nameOf,
  operationOf,
  pathOf,
  sentTo,
  withBody,
} from '../toolkit/drive/every-operation.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { expect } from 'chai';

type Membership = RecordOf<'OrganizationMembership'>;
type Kind = 'student' | 'admin';

interface Row {
  sessions: readonly Kind[];
  /** The roles that may call the operation under a club's path. */
  roles?: readonly Role[];
  /** The answer if a permitted caller sends a valid request about records that do not exist. */
  answer: number | ErrorCode;
}

const nobody: readonly Kind[] = [];
const student: readonly Kind[] = ['student'];
const admin: readonly Kind[] = ['admin'];
const administration: readonly Role[] = ['owner', 'admin'];
const content: readonly Role[] = ['owner', 'admin', 'editor'];

const table: Record<OperationId, Row> = {
  signUpStudent: { sessions: nobody, answer: 202 },
  signInStudent: { sessions: nobody, answer: 'invalid_credentials' },
  verifyStudentEmail: { sessions: nobody, answer: 'token_gone' },
  resendStudentVerification: { sessions: nobody, answer: 202 },
  requestStudentPasswordReset: { sessions: nobody, answer: 202 },
  confirmStudentPasswordReset: { sessions: nobody, answer: 'token_gone' },
  requestStudentCode: { sessions: nobody, answer: 202 },
  exchangeStudentCode: { sessions: nobody, answer: 'token_gone' },
  exchangeStudentSessionLink: { sessions: nobody, answer: 'invalid_credentials' },
  createStudentSessionLink: { sessions: admin, roles: [], answer: 'not_found' }, // only programs
  setStudentPassword: { sessions: student, answer: 'password_exists' },
  signUpAdministrator: { sessions: nobody, answer: 202 },
  verifyAdministratorEmail: { sessions: nobody, answer: 'token_gone' },
  resendAdministratorVerification: { sessions: nobody, answer: 202 },
  requestAdministratorPasswordReset: { sessions: nobody, answer: 202 },
  confirmAdministratorPasswordReset: { sessions: nobody, answer: 'token_gone' },
  signInAdministrator: { sessions: nobody, answer: 'invalid_credentials' },
  finishAdministratorSignIn: { sessions: nobody, answer: 'invalid_credentials' },
  getIdentityProviders: { sessions: nobody, answer: 200 },
  startProviderSignIn: { sessions: nobody, answer: 'provider_sign_in_failed' },
  exchangeProviderCode: { sessions: nobody, answer: 'provider_sign_in_failed' },
  joinIdentity: { sessions: nobody, answer: 'invalid_credentials' },
  requestIdentityCode: { sessions: nobody, answer: 'provider_sign_in_failed' },
  acceptInvitation: { sessions: nobody, answer: 'token_gone' },
  requestAdministratorPasskey: { sessions: nobody, answer: 200 },
  signInAdministratorWithPasskey: { sessions: nobody, answer: 'invalid_credentials' },
  requestPasskeyForSignIn: { sessions: nobody, answer: 'invalid_credentials' },
  requestPasskeyForProof: { sessions: admin, answer: 200 },
  requestAdministratorPasskeyCreation: { sessions: admin, answer: 200 },
  addAdministratorPasskey: { sessions: admin, answer: 'invalid_request' },
  requestStudentPasskey: { sessions: nobody, answer: 200 },
  signInStudentWithPasskey: { sessions: nobody, answer: 'invalid_credentials' },
  requestStudentPasskeyCreation: { sessions: student, answer: 200 },
  getStudentPasskeys: { sessions: student, answer: 200 },
  addStudentPasskey: { sessions: student, answer: 'invalid_request' },
  renameStudentPasskey: { sessions: student, answer: 'not_found' },
  removeStudentPasskey: { sessions: student, answer: 'not_found' },
  receiveSalesNotice: { sessions: nobody, answer: 'not_found' },
  receiveMailEvents: { sessions: nobody, answer: 'not_configured' },
  receiveMailReport: { sessions: nobody, answer: 'not_configured' },
  receiveProviderNotice: { sessions: nobody, answer: 'not_configured' },
  receiveSesNotice: { sessions: nobody, answer: 'not_configured' },
  receiveBillingNotice: { sessions: nobody, answer: 'not_configured' },
  getContract: { sessions: nobody, answer: 200 },

  followMailLink: { sessions: nobody, answer: 'not_found' },
  loadMailPicture: { sessions: nobody, answer: 'not_found' },

  getMailPreference: { sessions: nobody, answer: 'not_found' },
  unsubscribe: { sessions: nobody, answer: 'not_found' },
  resubscribe: { sessions: nobody, answer: 'not_found' },

  getSession: { sessions: student, answer: 200 },
  updateOwnStudent: { sessions: student, answer: 200 },
  endSession: { sessions: ['student', 'admin'], answer: 204 },
  getProfile: { sessions: admin, answer: 200 },
  updateProfile: { sessions: admin, answer: 200 },
  changeOwnPassword: { sessions: ['student', 'admin'], answer: 204 },
  getIdentities: { sessions: admin, answer: 200 },
  addIdentity: { sessions: admin, answer: 'token_gone' },
  removeIdentity: { sessions: admin, answer: 'not_found' },
  removePassword: { sessions: admin, answer: 'last_sign_in_method' },
  eraseOwnAccount: { sessions: admin, answer: 'invalid_request' }, // another address was typed
  createOrganization: { sessions: admin, answer: 201 },
  listOwnSessions: { sessions: ['student', 'admin'], answer: 200 },
  endOtherOwnSessions: { sessions: ['student', 'admin'], answer: 204 },
  endOwnSession: { sessions: ['student', 'admin'], answer: 'not_found' },
  deleteOwnAvatar: { sessions: admin, answer: 204 },
  putOwnAvatar: { sessions: admin, answer: 'invalid_image' },
  removePhone: { sessions: admin, answer: 204 },
  requestPhoneCode: { sessions: admin, answer: 'not_found' },
  verifyPhone: { sessions: admin, answer: 'token_gone' },

  getSecondFactors: { sessions: admin, answer: 200 },
  beginTotp: { sessions: admin, answer: 200 },
  confirmTotp: { sessions: admin, answer: 'not_found' },
  renameSecondFactor: { sessions: admin, answer: 'not_found' },
  removeSecondFactor: { sessions: admin, answer: 'not_found' },
  renewRecoveryCodes: { sessions: admin, answer: 'no_second_factor' },
  proveIdentity: { sessions: admin, answer: 'invalid_credentials' },

  getBranding: { sessions: admin, roles, answer: 200 },
  setBranding: { sessions: admin, roles: administration, answer: 200 },
  getMailTexts: { sessions: admin, roles, answer: 200 },
  getMailText: { sessions: admin, roles, answer: 200 },
  setMailText: { sessions: admin, roles: administration, answer: 200 },
  resetMailText: { sessions: admin, roles: administration, answer: 200 },

  getMailSender: { sessions: admin, roles, answer: 'not_found' },
  setMailSender: { sessions: admin, roles: content, answer: 200 },
  getMailDomain: { sessions: admin, roles, answer: 'not_found' },
  setMailDomain: { sessions: admin, roles: administration, answer: 200 },
  removeMailDomain: { sessions: admin, roles: administration, answer: 'not_found' },
  checkMailDomain: { sessions: admin, roles: administration, answer: 'not_found' },
  listSuppressions: { sessions: admin, roles, answer: 200 },
  addSuppression: { sessions: admin, roles: content, answer: 201 },
  importSuppressions: { sessions: admin, roles: content, answer: 200 },
  getMailPreferences: { sessions: student, answer: 200 },
  setMailPreferences: { sessions: student, answer: 200 },
  removeSuppression: { sessions: admin, roles: content, answer: 'not_found' },
  listCampaigns: { sessions: admin, roles, answer: 200 },
  createCampaign: { sessions: admin, roles: content, answer: 201 },
  getCampaign: { sessions: admin, roles, answer: 'not_found' },
  updateCampaign: { sessions: admin, roles: content, answer: 'not_found' },
  deleteCampaign: { sessions: admin, roles: content, answer: 'not_found' },
  duplicateCampaign: { sessions: admin, roles: content, answer: 'not_found' },
  getCampaignAudience: { sessions: admin, roles, answer: 'not_found' },
  getCampaignProblems: { sessions: admin, roles, answer: 'not_found' },
  checkCampaign: { sessions: admin, roles, answer: 'not_found' },
  sendTestMail: { sessions: admin, roles: content, answer: 'not_found' },
  listTestMails: { sessions: admin, roles, answer: 'not_found' },
  previewCampaign: { sessions: admin, roles, answer: 'not_found' },
  previewContrastingCopies: { sessions: admin, roles, answer: 'not_found' },
  showCampaignPreview: { sessions: nobody, answer: 'not_found' },
  scheduleCampaign: { sessions: admin, roles: content, answer: 'not_found' },
  unscheduleCampaign: { sessions: admin, roles: content, answer: 'not_found' },
  pauseCampaign: { sessions: admin, roles: content, answer: 'not_found' },
  resumeCampaign: { sessions: admin, roles: content, answer: 'not_found' },
  cancelCampaign: { sessions: admin, roles: content, answer: 'not_found' },
  retryCampaign: { sessions: admin, roles: content, answer: 'not_found' },
  getCampaignStatistics: { sessions: admin, roles, answer: 'not_found' },
  listCampaignDeliveries: { sessions: admin, roles, answer: 'not_found' },

  getClub: { sessions: admin, roles, answer: 200 },
  updateClub: { sessions: admin, roles: administration, answer: 200 },

  listAgents: { sessions: admin, roles, answer: 200 },
  createAgent: { sessions: admin, roles: content, answer: 201 },
  getAgent: { sessions: admin, roles, answer: 'not_found' },
  updateAgent: { sessions: admin, roles: content, answer: 'not_found' },
  getAgentMaterial: { sessions: admin, roles, answer: 'not_found' },
  setAgentMaterial: { sessions: admin, roles: content, answer: 'not_found' },
  listAgentSources: { sessions: admin, roles, answer: 'not_found' },
  reindexAgentSource: { sessions: admin, roles: content, answer: 'not_found' },
  listClassroomAgents: { sessions: student, answer: 200 },

  listAuditLog: { sessions: admin, roles: administration, answer: 200 },
  listClubExports: { sessions: admin, roles: ['owner'], answer: 200 },
  requestClubExport: { sessions: admin, roles: ['owner'], answer: 202 },
  getClubExport: { sessions: admin, roles: ['owner'], answer: 'not_found' },
  deleteClubExport: { sessions: admin, roles: ['owner'], answer: 'not_found' },
  listClubExportFiles: { sessions: admin, roles: ['owner'], answer: 'not_found' },
  exportAuditLog: { sessions: admin, roles: administration, answer: 200 },

  listApiKeys: { sessions: admin, roles: administration, answer: 200 },
  createApiKey: { sessions: admin, roles: administration, answer: 201 },
  getApiKey: { sessions: admin, roles: administration, answer: 'not_found' },
  // A key reads itself; a person has no key.
  getCurrentApiKey: { sessions: admin, roles, answer: 'not_found' },
  updateApiKey: { sessions: admin, roles: administration, answer: 'not_found' },
  revokeApiKey: { sessions: admin, roles: administration, answer: 'not_found' },
  rotateApiKey: { sessions: admin, roles: administration, answer: 'not_found' },

  listMembers: { sessions: admin, roles: administration, answer: 200 },
  inviteMember: { sessions: admin, roles: administration, answer: 201 },
  changeMemberRole: { sessions: admin, roles: administration, answer: 'not_found' },
  leaveClub: { sessions: admin, roles, answer: 204 },
  removeMember: { sessions: admin, roles: administration, answer: 'not_found' },
  revokeInvitation: { sessions: admin, roles: administration, answer: 'not_found' },
  getIdentityProvider: { sessions: admin, roles: ['owner'], answer: 'not_found' },
  setIdentityProvider: { sessions: admin, roles: ['owner'], answer: 'url_not_allowed' },
  removeIdentityProvider: { sessions: admin, roles: ['owner'], answer: 'not_found' },
  getClubErasure: { sessions: admin, roles: administration, answer: 'not_found' },
  requestClubErasure: { sessions: admin, roles: ['owner'], answer: 'invalid_request' },
  cancelClubErasure: { sessions: admin, roles: ['owner'], answer: 'not_found' },
  getSignInRules: { sessions: admin, roles: administration, answer: 200 },
  setSignInRules: { sessions: admin, roles: ['owner'], answer: 'sign_in_rule_not_met' },

  listStudents: { sessions: admin, roles, answer: 200 },
  getStudent: { sessions: admin, roles, answer: 'not_found' },
  createStudent: { sessions: admin, roles: content, answer: 201 },
  updateStudent: { sessions: admin, roles: content, answer: 'not_found' },
  removeStudent: { sessions: admin, roles: administration, answer: 'not_found' },

  listStudentExports: { sessions: admin, roles: administration, answer: 'not_found' },
  requestStudentExport: { sessions: admin, roles: administration, answer: 'not_found' },
  getStudentExport: { sessions: admin, roles: administration, answer: 'not_found' },
  listOwnExports: { sessions: student, answer: 200 },
  requestOwnExport: { sessions: student, answer: 202 },
  getOwnExport: { sessions: student, answer: 'not_found' },

  listTags: { sessions: admin, roles, answer: 200 },
  createTag: { sessions: admin, roles: content, answer: 201 },
  updateTag: { sessions: admin, roles: content, answer: 'not_found' },
  deleteTag: { sessions: admin, roles: content, answer: 'not_found' },
  tagStudent: { sessions: admin, roles: content, answer: 'not_found' },
  untagStudent: { sessions: admin, roles: content, answer: 'not_found' },
  listLevels: { sessions: admin, roles, answer: 200 },
  createLevel: { sessions: admin, roles: content, answer: 201 },
  updateLevel: { sessions: admin, roles: content, answer: 'not_found' },
  deleteLevel: { sessions: admin, roles: content, answer: 'not_found' },
  listPointAwards: { sessions: admin, roles, answer: 'not_found' },
  awardPoints: { sessions: admin, roles: content, answer: 'not_found' },
  getStanding: { sessions: admin, roles, answer: 'not_found' },
  getOwnStanding: { sessions: student, answer: 200 },
  listDeliveries: { sessions: admin, roles, answer: 200 },
  createDelivery: { sessions: admin, roles: content, answer: 'not_found' },
  getDelivery: { sessions: admin, roles, answer: 'not_found' },
  updateDelivery: { sessions: admin, roles: content, answer: 'not_found' },
  archiveDelivery: { sessions: admin, roles: content, answer: 'not_found' },
  unarchiveDelivery: { sessions: admin, roles: content, answer: 'not_found' },
  listCohorts: { sessions: admin, roles, answer: 'not_found' },
  createCohort: { sessions: admin, roles: content, answer: 'not_found' },
  updateCohort: { sessions: admin, roles: content, answer: 'not_found' },
  deleteCohort: { sessions: admin, roles: content, answer: 'not_found' },
  listEnrollments: { sessions: admin, roles, answer: 200 },
  grantEnrollment: { sessions: admin, roles: content, answer: 'not_found' },
  getEnrollment: { sessions: admin, roles, answer: 'not_found' },
  removeEnrollment: { sessions: admin, roles: content, answer: 'not_found' },
  revokeEnrollment: { sessions: admin, roles: content, answer: 'not_found' },
  restoreEnrollment: { sessions: admin, roles: content, answer: 'not_found' },
  moveEnrollment: { sessions: admin, roles: content, answer: 'not_found' },
  setEnrollmentEnd: { sessions: admin, roles: content, answer: 'not_found' },
  listProducts: { sessions: admin, roles, answer: 200 },
  createProduct: { sessions: admin, roles: content, answer: 201 },
  getProduct: { sessions: admin, roles, answer: 'not_found' },
  updateProduct: { sessions: admin, roles: content, answer: 'not_found' },
  deleteProduct: { sessions: admin, roles: content, answer: 'not_found' },
  listRegistrationLinks: { sessions: admin, roles, answer: 200 },
  createRegistrationLink: { sessions: admin, roles: content, answer: 'not_found' },
  getRegistrationLink: { sessions: admin, roles, answer: 'not_found' },
  updateRegistrationLink: { sessions: admin, roles: content, answer: 'not_found' },
  revokeRegistrationLink: { sessions: admin, roles: content, answer: 'not_found' },
  listOwnEnrollments: { sessions: student, answer: 200 },
  listSalesConnections: { sessions: admin, roles: administration, answer: 200 },
  createSalesConnection: { sessions: admin, roles: administration, answer: 201 },
  rotateSalesConnection: { sessions: admin, roles: administration, answer: 'not_found' },
  deleteSalesConnection: { sessions: admin, roles: administration, answer: 'not_found' },
  listSalesNotices: { sessions: admin, roles, answer: 200 },
  getSalesNotice: { sessions: admin, roles: administration, answer: 'not_found' },
  replaySalesNotice: { sessions: admin, roles: administration, answer: 'not_found' },
  listPurchases: { sessions: admin, roles, answer: 200 },
  listSubscriptions: { sessions: admin, roles, answer: 200 },
  bulkTagStudents: { sessions: admin, roles: content, answer: 'not_found' },
  bulkUntagStudents: { sessions: admin, roles: content, answer: 'not_found' },
  bulkGrantAccess: { sessions: admin, roles: content, answer: 'not_found' },
  bulkRevokeAccess: { sessions: admin, roles: content, answer: 'not_found' },
  bulkAwardPoints: { sessions: admin, roles: content, answer: 202 },
  listBulkJobs: { sessions: admin, roles, answer: 200 },
  getBulkJob: { sessions: admin, roles, answer: 'not_found' },
  listBulkJobRows: { sessions: admin, roles, answer: 'not_found' },
  cancelBulkJob: { sessions: admin, roles: content, answer: 'not_found' },
  listStudentImports: { sessions: admin, roles, answer: 200 },
  importStudents: { sessions: admin, roles: administration, answer: 202 },
  getStudentImport: { sessions: admin, roles, answer: 'not_found' },
  listStudentImportRows: { sessions: admin, roles, answer: 'not_found' },
  cancelStudentImport: { sessions: admin, roles: administration, answer: 'not_found' },
  listAgentConversations: { sessions: admin, roles: administration, answer: 'not_found' },
  getAgentConversation: { sessions: admin, roles: administration, answer: 'not_found' },
  getAiBudget: { sessions: admin, roles, answer: 200 },
  setAiBudgetLimit: { sessions: admin, roles: administration, answer: 200 },
  removeAiBudgetLimit: { sessions: admin, roles: administration, answer: 200 },
  listAiUsage: { sessions: admin, roles, answer: 200 },
  listAgentUsage: { sessions: admin, roles, answer: 'not_found' },
  getClubPlan: { sessions: admin, roles, answer: 200 },
  listAddOns: { sessions: admin, roles: administration, answer: 200 },
  buyAddOn: { sessions: admin, roles: administration, answer: 'not_configured' },
  openCheckout: { sessions: admin, roles: ['owner'], answer: 'not_configured' },
  openBillingPortal: { sessions: admin, roles: ['owner'], answer: 'not_configured' },

  listWebhookEndpoints: { sessions: admin, roles: administration, answer: 200 },
  registerWebhookEndpoint: { sessions: admin, roles: administration, answer: 201 },
  getWebhookEndpoint: { sessions: admin, roles: administration, answer: 'not_found' },
  listWebhookDeliveries: { sessions: admin, roles: administration, answer: 'not_found' },
  getWebhookDelivery: { sessions: admin, roles: administration, answer: 'not_found' },
  updateWebhookEndpoint: { sessions: admin, roles: administration, answer: 'not_found' },
  deleteWebhookEndpoint: { sessions: admin, roles: administration, answer: 'not_found' },
  enableWebhookEndpoint: { sessions: admin, roles: administration, answer: 'not_found' },
  pauseWebhookEndpoint: { sessions: admin, roles: administration, answer: 'not_found' },
  disableWebhookEndpoint: { sessions: admin, roles: administration, answer: 'not_found' },
  rotateWebhookSecret: { sessions: admin, roles: administration, answer: 'not_found' },
  sendTestWebhook: { sessions: admin, roles: administration, answer: 'not_found' },
  resendWebhookDelivery: { sessions: admin, roles: administration, answer: 'not_found' },
  recoverWebhookDeliveries: { sessions: admin, roles: administration, answer: 'not_found' },
  listEvents: { sessions: admin, roles: administration, answer: 200 },
  streamWebhookEvents: { sessions: admin, roles: administration, answer: 'invalid_cursor' },
  replayEvent: { sessions: admin, roles: administration, answer: 'not_found' },

  listCourses: { sessions: admin, roles, answer: 200 },
  createCourse: { sessions: admin, roles: content, answer: 201 },
  getCourse: { sessions: admin, roles, answer: 'not_found' },
  updateCourse: { sessions: admin, roles: content, answer: 'not_found' },
  orderCourse: { sessions: admin, roles: content, answer: 'not_found' },
  createModule: { sessions: admin, roles: content, answer: 'not_found' },
  updateModule: { sessions: admin, roles: content, answer: 'not_found' },
  deleteModule: { sessions: admin, roles: content, answer: 'not_found' },
  createLesson: { sessions: admin, roles: content, answer: 'not_found' },
  getLesson: { sessions: admin, roles, answer: 'not_found' },
  updateLesson: { sessions: admin, roles: content, answer: 'not_found' },
  deleteLesson: { sessions: admin, roles: content, answer: 'not_found' },
  listStudentProgress: { sessions: admin, roles, answer: 'not_found' },
  listCommentsOfLesson: { sessions: admin, roles, answer: 'not_found' },
  deleteComment: { sessions: admin, roles, answer: 'not_found' },
  listClassroomCourses: { sessions: student, answer: 200 },
  getClassroomCourse: { sessions: student, answer: 'not_found' },
  getClassroomLesson: { sessions: student, answer: 'not_found' },
  completeLesson: { sessions: student, answer: 'not_found' },
  undoLessonCompletion: { sessions: student, answer: 'not_found' },
  listLessonComments: { sessions: student, answer: 'not_found' },
  publishLessonComment: { sessions: student, answer: 'not_found' },
  deleteOwnComment: { sessions: student, answer: 'not_found' },

  listCertificates: { sessions: admin, roles, answer: 200 },
  issueCertificate: { sessions: admin, roles: content, answer: 'not_found' },
  getCertificate: { sessions: admin, roles, answer: 'not_found' },
  reissueCertificate: { sessions: admin, roles: content, answer: 'not_found' },
  revokeCertificate: { sessions: admin, roles: content, answer: 'not_found' },
  previewCertificate: { sessions: admin, roles, answer: 200 },
  getCertificatePdf: { sessions: admin, roles, answer: 'not_found' },
  listOwnCertificates: { sessions: student, answer: 200 },
  getOwnCertificatePdf: { sessions: student, answer: 'not_found' },
  getClubBySlug: { sessions: nobody, answer: 'not_found' },

  verifyCertificate: { sessions: nobody, answer: 'not_found' },
  getErasureProof: { sessions: nobody, answer: 'not_found' },
  getErasureKeys: { sessions: nobody, answer: 200 },
  getStudentErasure: { sessions: admin, roles: administration, answer: 'not_found' },

  listMedia: { sessions: admin, roles, answer: 200 },
  reserveMedia: { sessions: admin, roles: content, answer: 201 },
  getMedia: { sessions: admin, roles, answer: 'not_found' },
  updateMedia: { sessions: admin, roles: content, answer: 'not_found' },
  createMediaReference: { sessions: admin, roles: content, answer: 201 },
  listMediaFolders: { sessions: admin, roles, answer: 200 },
  createMediaFolder: { sessions: admin, roles: content, answer: 201 },
  updateMediaFolder: { sessions: admin, roles: content, answer: 'not_found' },
  deleteMediaFolder: { sessions: admin, roles: content, answer: 'not_found' },
  replaceMedia: { sessions: admin, roles: content, answer: 'not_found' },
  publishMedia: { sessions: admin, roles: content, answer: 'not_found' },
  unpublishMedia: { sessions: admin, roles: content, answer: 'not_found' },
  openPublicMedia: { sessions: nobody, answer: 'not_found' },
  openPublicThumbnail: { sessions: nobody, answer: 'not_found' },
  listMediaUsage: { sessions: admin, roles, answer: 'not_found' },
  createMediaTrack: { sessions: admin, roles: content, answer: 'not_found' },
  putMediaTrack: { sessions: admin, roles: content, answer: 'not_found' },
  removeMediaTrack: { sessions: admin, roles: content, answer: 'not_found' },
  removeMedia: { sessions: admin, roles: content, answer: 'not_found' },
  completeMedia: { sessions: ['student', 'admin'], roles: content, answer: 'not_found' },
  renewUpload: { sessions: ['student', 'admin'], roles: content, answer: 'not_found' },
  reserveAgentImage: { sessions: student, answer: 201 },
  reserveAvatar: { sessions: student, answer: 201 },
  deleteAvatar: { sessions: student, answer: 204 },

  listMentorships: { sessions: admin, roles, answer: 200 },
  createMentorship: { sessions: admin, roles: content, answer: 'not_found' },
  getMentorship: { sessions: admin, roles, answer: 'not_found' },
  updateMentorship: { sessions: admin, roles: content, answer: 'not_found' },
  listMentorshipSessions: { sessions: admin, roles, answer: 200 },
  getMentorshipSession: { sessions: admin, roles, answer: 'not_found' },
  cancelMentorshipSession: { sessions: admin, roles: content, answer: 'not_found' },
  setMentorshipNoShow: { sessions: admin, roles: content, answer: 'not_found' },
  clearMentorshipNoShow: { sessions: admin, roles: content, answer: 'not_found' },
  listOpenMentorships: { sessions: student, answer: 200 },
  getOpenMentorship: { sessions: student, answer: 'not_found' },
  getMentorshipSlots: { sessions: student, answer: 'not_found' },
  bookMentorshipSession: { sessions: student, answer: 'not_found' },
  listOwnMentorshipSessions: { sessions: student, answer: 200 },
  getOwnMentorshipSession: { sessions: student, answer: 'not_found' },
  cancelOwnMentorshipSession: { sessions: student, answer: 'not_found' },
  setMentorshipAgenda: { sessions: student, answer: 'not_found' },
  rateMentorshipSession: { sessions: student, answer: 'not_found' },

  listAssignments: { sessions: admin, roles, answer: 'not_found' },
  createAssignment: { sessions: admin, roles: content, answer: 'not_found' },
  orderAssignments: { sessions: admin, roles: content, answer: 'not_found' },
  getAssignment: { sessions: admin, roles, answer: 'not_found' },
  updateAssignment: { sessions: admin, roles: content, answer: 'not_found' },
  deleteAssignment: { sessions: admin, roles: content, answer: 'not_found' },
  listAssignmentExtensions: { sessions: admin, roles, answer: 'not_found' },
  setAssignmentExtension: { sessions: admin, roles: content, answer: 'not_found' },
  deleteAssignmentExtension: { sessions: admin, roles: content, answer: 'not_found' },
  listAssignmentSubmissions: { sessions: admin, roles, answer: 200 },
  getAssignmentSubmission: { sessions: admin, roles, answer: 'not_found' },
  reviewAssignmentSubmission: { sessions: admin, roles: content, answer: 'not_found' },
  listLessonAssignments: { sessions: student, answer: 'not_found' },
  submitAssignment: { sessions: student, answer: 'not_found' },
  listOwnSubmissions: { sessions: student, answer: 200 },
  getOwnSubmission: { sessions: student, answer: 'not_found' },
  withdrawSubmission: { sessions: student, answer: 'not_found' },
  listAutomations: { sessions: admin, roles, answer: 200 },
  createAutomation: { sessions: admin, roles: content, answer: 201 },
  getAutomation: { sessions: admin, roles, answer: 'not_found' },
  updateAutomation: { sessions: admin, roles: content, answer: 'not_found' },
  duplicateAutomation: { sessions: admin, roles: content, answer: 'not_found' },
  getAutomationProblems: { sessions: admin, roles, answer: 'not_found' },
  dryRunAutomation: { sessions: admin, roles: content, answer: 'not_found' },
  publishAutomation: { sessions: admin, roles: content, answer: 'not_found' },
  pauseAutomation: { sessions: admin, roles: content, answer: 'not_found' },
  resumeAutomation: { sessions: admin, roles: content, answer: 'not_found' },
  archiveAutomation: { sessions: admin, roles: content, answer: 'not_found' },
  listAutomationVersions: { sessions: admin, roles, answer: 'not_found' },
  getAutomationVersion: { sessions: admin, roles, answer: 'not_found' },
  compareAutomationVersions: { sessions: admin, roles, answer: 'not_found' },
  listAutomationRuns: { sessions: admin, roles, answer: 'not_found' },
  enrollInAutomation: { sessions: admin, roles: content, answer: 'not_found' },
  getAutomationRun: { sessions: admin, roles, answer: 'not_found' },
  exitAutomationRun: { sessions: admin, roles: content, answer: 'not_found' },
  resumeAutomationRun: { sessions: admin, roles: content, answer: 'not_found' },
  getAutomationCounts: { sessions: admin, roles, answer: 'not_found' },
  listRepositories: { sessions: admin, roles, answer: 200 },
  createRepository: { sessions: admin, roles: content, answer: 201 },
  getRepository: { sessions: admin, roles, answer: 'not_found' },
  updateRepository: { sessions: admin, roles: content, answer: 'not_found' },
  setRepositoryItems: { sessions: admin, roles: content, answer: 'not_found' },
  listClassroomRepositories: { sessions: student, answer: 200 },
  getClassroomRepository: { sessions: student, answer: 'not_found' },
  downloadRepository: { sessions: student, answer: 'not_found' },
  getStorageUsage: { sessions: admin, roles, answer: 200 },

  askAgent: { sessions: student, answer: 'not_found' },
  getClassroomAgent: { sessions: student, answer: 'not_found' },
  listConversations: { sessions: student, answer: 'not_found' },
  getConversation: { sessions: student, answer: 'not_found' },
  getConversationOfAgent: { sessions: student, answer: 'not_found' },
  renameConversation: { sessions: student, answer: 'not_found' },
  removeConversation: { sessions: student, answer: 'not_found' },
  reattachAnswer: { sessions: student, answer: 'not_found' },
  reserveAssignmentFile: { sessions: student, answer: 201 },
  listUnsentFiles: { sessions: student, answer: 200 },
  deleteUnsentFile: { sessions: student, answer: 'not_found' },
  listCommunitySpaces: { sessions: admin, roles, answer: 200 },
  createCommunitySpace: { sessions: admin, roles: content, answer: 201 },
  orderCommunitySpaces: { sessions: admin, roles: content, answer: 'invalid_request' },
  getCommunitySpace: { sessions: admin, roles, answer: 'not_found' },
  updateCommunitySpace: { sessions: admin, roles: content, answer: 'not_found' },
  archiveCommunitySpace: { sessions: admin, roles: content, answer: 'not_found' },
  unarchiveCommunitySpace: { sessions: admin, roles: content, answer: 'not_found' },
  listSpaceMembers: { sessions: admin, roles, answer: 'not_found' },
  removeSpaceMember: { sessions: admin, roles: content, answer: 'not_found' },
  banSpaceMember: { sessions: admin, roles: content, answer: 'not_found' },
  unbanSpaceMember: { sessions: admin, roles: content, answer: 'not_found' },
  listClassroomSpaces: { sessions: student, answer: 200 },
  getClassroomSpace: { sessions: student, answer: 'not_found' },
  joinCommunitySpace: { sessions: student, answer: 'not_found' },
  updateSpaceMembership: { sessions: student, answer: 'not_found' },
  markCommunitySpaceRead: { sessions: student, answer: 'not_found' },
  leaveCommunitySpace: { sessions: student, answer: 'not_found' },
  listSpacePosts: { sessions: ['student', 'admin'], roles, answer: 'not_found' },
  publishSpacePost: { sessions: ['student', 'admin'], roles: content, answer: 'not_found' },
  reservePostFile: { sessions: student, answer: 201 },
  getPost: { sessions: ['student', 'admin'], roles, answer: 'not_found' },
  updatePost: { sessions: ['student', 'admin'], roles: content, answer: 'not_found' },
  deletePost: { sessions: ['student', 'admin'], roles: content, answer: 'not_found' },
  reactToPost: { sessions: ['student', 'admin'], roles: content, answer: 'not_found' },
  takeBackReactionToPost: { sessions: ['student', 'admin'], roles: content, answer: 'not_found' },
  reportPost: { sessions: student, answer: 'not_found' },
  listPostComments: { sessions: ['student', 'admin'], roles, answer: 'not_found' },
  publishPostComment: { sessions: ['student', 'admin'], roles: content, answer: 'not_found' },
  updatePostComment: { sessions: ['student', 'admin'], roles: content, answer: 'not_found' },
  deletePostComment: { sessions: ['student', 'admin'], roles: content, answer: 'not_found' },
  reactToComment: { sessions: ['student', 'admin'], roles: content, answer: 'not_found' },
  takeBackReactionToComment: { sessions: ['student', 'admin'], roles: content, answer: 'not_found' },
  reportComment: { sessions: student, answer: 'not_found' },
  moderatePost: { sessions: admin, roles: content, answer: 'not_found' },
  moderateComment: { sessions: admin, roles: content, answer: 'not_found' },
  listCommunityReports: { sessions: admin, roles, answer: 200 },
  dismissCommunityReport: { sessions: admin, roles: content, answer: 'not_found' },
  listCommunityModerations: { sessions: admin, roles, answer: 200 },
  claimRegistrationLink: { sessions: student, answer: 'not_found' },
};

interface Caller {
  token?: string | undefined;
  /** The kind of account that owns the session, or `key` for an API key; absent without a valid session. */
  kind?: Kind | 'key';
  /** Whether the scope of the operation was granted to the key. */
  isGranted?: boolean;
  /** The caller's role in the club of the path; absent for an outsider. */
  role?: Role | 'student';
  /** The id of the club in the path, if it differs from the club of the other callers. */
  clubId?: string;
}

/** Every operation uses the same callers. */
async function strangers(): Promise<Record<string, Caller>> {
  return {
    nobody: {},
    'an ended session of a student': { token: await endedSession('student') },
    'an ended session of an administrator': { token: await endedSession('admin') },
    'an expired session of a student': { token: await expiredSession('student') },
    'an expired session of an administrator': { token: await expiredSession('admin') },
    'a malformed token': { token: 'no-token-of-ours' },
  };
}

/** Each operation needs new callers, because one operation ends the session. */
async function callersOf(
  { pathParameters, scope }: ContractOperation,
  clubId: Id,
  ownerToken: string,
): Promise<Record<string, Caller>> {
  const underClub = pathParameters.includes('clubId');
  const otherClub = await buildClub();
  const otherScopes = scopes.filter((other) => other !== scope);
  const key = async (of: Id, granted: readonly Scope[]) =>
    ({ token: (await buildApiKey(of, granted)).token, kind: 'key' }) as const;
  const member = async (role: Role) =>
    ({ token: (await buildMember(clubId, role)).token, kind: 'admin', role }) as const;
  const inside = { token: ownerToken, kind: 'admin' } as const;
  return {
    'a student': { token: (await buildStudent(clubId)).token, kind: 'student', role: 'student' },
    'a student of another club': { token: (await buildStudent(otherClub.id)).token, kind: 'student' },
    'the owner': { ...inside, role: 'owner' },
    'an admin': await member('admin'),
    'an editor': await member('editor'),
    support: await member('support'),
    'the owner of another club': { token: otherClub.owner.token, kind: 'admin' },
    'an administrator of no club': { token: (await buildAdministrator()).token, kind: 'admin' },
    'a key with the scope': {
      ...(await key(clubId, scope && scope !== anyScope ? [scope] : [])),
      role: 'owner',
      isGranted: true,
    },
    'a key with every other scope': { ...(await key(clubId, otherScopes)), role: 'owner' },
    'a key of another club with every scope': await key(otherClub.id, scopes),
    ...(underClub && {
      'the owner, on a path of a club that does not exist': { ...inside, clubId: newId() },
      'the owner, on a path whose club id is not a uuid': { ...inside, clubId: 'my-club' },
    }),
  };
}

function expected(operationId: OperationId, caller: Caller): number | ErrorCode {
  const { sessions, roles: permitted, answer } = table[operationId];
  const underClub = operationOf(operationId).pathParameters.includes('clubId');
  if (sessions.length === 0) return underClub && caller.clubId !== undefined ? 'forbidden' : answer;
  if (caller.kind === 'key') return expectedOfKey(operationOf(operationId), caller, answer);
  if (caller.kind === undefined || !sessions.includes(caller.kind)) return 'unauthenticated';
  if (!underClub) return answer;
  if (caller.role === undefined) return 'forbidden';
  if (caller.role === 'student' || permitted?.includes(caller.role)) return answer;
  return 'role_not_permitted';
}

function expectedOfKey({ scope }: ContractOperation, caller: Caller, answer: number | ErrorCode): number | ErrorCode {
  if (scope === undefined) return 'unauthenticated';
  if (caller.role === undefined) return 'forbidden';
  if (scope === anyScope) return 200;
  return caller.isGranted ? answer : 'scope_not_granted';
}

const outcomeOf = ({ status, body }: Answer): number | string => (status < 400 ? status : body.error.code);

describe('the authorization table', () => {
  let withoutSession: Record<string, Caller>;
  before(async () => {
    withoutSession = await strangers();
  });

  it('has exactly one row for each operation of the contract', () => {
    expect(Object.keys(table).toSorted()).to.deep.equal(
      everyOperation.map(({ operationId }) => operationId).toSorted(),
    );
  });

  describe('the answer to each kind of caller', () => {
    for (const operation of everyOperation) {
      const { operationId, method } = operation;
      it(`is as the table states: ${nameOf(operation)}`, async () => {
        const club = await buildClub();
        await buildMember(club.id, 'owner'); // so that the first owner may leave
        const callers = { ...withoutSession, ...(await callersOf(operation, club.id, club.owner.token)) };
        const actual: Record<string, unknown> = {};
        const expectedAnswers: Record<string, unknown> = {};
        await eachCase(Object.entries(callers), async ([name, caller]) => {
          const path = pathOf(operation, { clubId: caller.clubId ?? club.id });
          const answer = await call(method.toUpperCase(), path, { token: caller.token, ...sentTo(operation) });
          actual[name] = outcomeOf(answer);
          expectedAnswers[name] = expected(operationId, caller);
          if (answer.status >= 400) expect(answer.status).to.equal(errorStatus[answer.body.error.code as ErrorCode]);
        });
        expect(actual).to.deep.equal(expectedAnswers);
      });
    }
  });
});

describe('403 for a session outside the organization', () => {
  it('has the same bytes for another club’s id, an unknown id and a malformed id, in every operation', async () => {
    const [own, foreign] = [await buildClub(), await buildClub()];
    const studentToken = (await buildStudent(own.id)).token;
    const answers = new Set<string>();
    await eachCase(everyOperation, async (operation) => {
      if (!operation.pathParameters.includes('clubId') || operation.auth.length === 0) return;
      const token = operation.auth.includes('student') ? studentToken : own.owner.token;
      await eachCase([foreign.id, newId(), 'my-club', `${own.id}0`, '%00', '..%2F..'], async (clubId) => {
        const path = pathOf(operation, { clubId });
        const answer = await call(operation.method.toUpperCase(), path, { token, ...sentTo(operation) });
        expectError(answer, 'forbidden');
        answers.add(visible(answer));
      });
    });
    expect([...answers]).to.have.length(1);
  });

  it('has the same text as the 403 for a sign-up in an unknown club', async () => {
    const { owner } = await buildClub();
    const foreign = await call('GET', `/v1/clubs/${newId()}/students`, { token: owner.token });
    await eachCase([newId(), 'my-club'], async (clubId) =>
      eachCase([bodyOf(operationOf('signUpStudent')), {}], async (body) => {
        const answer = await call('POST', `/v1/clubs/${clubId}/classroom/sign-up`, { body });
        expect(answer.text).to.equal(foreign.text);
        expect(answer.status).to.equal(403);
      }),
    );
  });

  it('does not depend on the letter case of the club id', async () => {
    const { id, owner } = await buildClub();
    const answer = await call('GET', `/v1/clubs/${id.toUpperCase()}/students`, { token: owner.token });
    expect(answer.body).to.deep.equal({ data: [], total: 0 });
  });
});

describe('the order of the checks (DEC-6, ENG-13)', () => {
  it('checks session, club and role before the body, so that a broken body never hides a 401 or 403', async () => {
    await eachCase(
      withBody.filter(({ auth }) => auth.includes('admin')),
      async (operation) => {
        const club = await buildClub();
        const outsider = await buildClub();
        const support = await buildMember(club.id, 'support');
        const path = pathOf(operation, { clubId: club.id });
        const send = (token?: string) => call(operation.method.toUpperCase(), path, { token, raw: '{"broken' });
        expectError(await send(), 'unauthenticated');
        if (operation.pathParameters.includes('clubId')) {
          expectError(await send(outsider.owner.token), 'forbidden');
          expectError(await send(support.token), 'role_not_permitted');
        }
        const key = await buildApiKey(club.id, scopes);
        const isOfProgram = operation.roles?.length === 0;
        expectError(await send(isOfProgram ? key.token : club.owner.token), 'malformed_request');
      },
    );
  });

  it('checks the body (400, 422) before it checks that records exist (404)', async () => {
    const { id, owner } = await buildClub();
    const path = `/v1/clubs/${id}/students/${newId()}`;
    expectError(await call('PATCH', path, { token: owner.token, body: {} }), 'invalid_request');
    expectError(await call('PATCH', path, { token: owner.token, body: { name: 1 } }), 'malformed_request');
    expectError(await call('PATCH', path, { token: owner.token, body: { name: 'Ada' } }), 'not_found');
  });
});

describe('a change of membership', () => {
  it('does not change a membership in another club', async () => {
    const [club, other] = [await buildClub(), await buildClub()];
    const member = await buildMember(club.id, 'admin');
    await (
      await testDatabase()
    ).query(`INSERT INTO memberships (club_id, administrator_id, role, joined_at) VALUES ($1, $2, 'owner', now())`, [
      other.id,
      member.id,
    ]);
    const rolesNow = async () => {
      const { body } = await call('GET', '/v1/me', { token: member.token });
      return Object.fromEntries(body.data.organizations.map((one: Membership) => [one.organization_id, one.role]));
    };
    const path = `/v1/clubs/${club.id}/members/${member.id}`;
    await call('PATCH', path, { token: club.owner.token, body: { role: 'support' } });
    expect(await rolesNow()).to.deep.equal({ [club.id]: 'support', [other.id]: 'owner' });
    await call('DELETE', path, { token: club.owner.token });
    expect(await rolesNow()).to.deep.equal({ [other.id]: 'owner' });
  });

  it('takes effect immediately for a changed role and for a removed member', async () => {
    const { id, owner } = await buildClub();
    const member = await buildMember(id, 'admin');
    const read = () => call('GET', `/v1/clubs/${id}/webhook-endpoints`, { token: member.token });
    expect((await read()).status).to.equal(200);
    await call('PATCH', `/v1/clubs/${id}/members/${member.id}`, { token: owner.token, body: { role: 'support' } });
    expectError(await read(), 'role_not_permitted');
    await call('DELETE', `/v1/clubs/${id}/members/${member.id}`, { token: owner.token });
    expectError(await read(), 'forbidden');
    expect((await call('GET', '/v1/me', { token: member.token })).body.data.organizations).to.deep.equal([]);
  });
});
