/** The answers of the context `clubs` to the questions that concern every context (domain/questions.ts). */
import { ClubBranding } from '../../entities/clubs/club-branding.ts';
import { ClubSlug } from '../../entities/clubs/club-slug.ts';
import { Invitation } from '../../entities/clubs/invitation.ts';
import { Membership } from '../../entities/clubs/membership.ts';
import { SignInRules } from '../../entities/clubs/sign-in-rules.ts';
import { rollingUp, type ContextQuestions } from '../questions.ts';
import { rollUpListTallies } from '../../platform/infra/postgres/lists/counts.ts';

export const clubsParts = {
  closeClub: null, // nothing is under way
  eraseStudent: null,
  exportStudent: null,
  changeEmail: null,
  clubRows: [
    { of: ClubBranding, by: 'club' },
    { of: ClubSlug, by: 'club' },
    { of: Invitation, by: 'club' },
    { of: Membership, by: 'club' },
    { of: SignInRules, by: 'club' },
  ],
  retention: [rollingUp('listChanges', rollUpListTallies)],
} satisfies ContextQuestions;
