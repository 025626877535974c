/** The answers of the context `billing` to the questions that concern every context (domain/questions.ts). */
import { AddOn } from '../../entities/billing/add-on.ts';
import { BillingCustomer } from '../../entities/billing/billing-customer.ts';
import { BillingEvent } from '../../entities/billing/billing-event.ts';
import { ClubFeatureChange } from '../../entities/billing/club-feature-change.ts';
import { ClubPlan } from '../../entities/billing/club-plan.ts';
import { ClubStudentChange } from '../../entities/billing/club-student-change.ts';
import { ClubStudentCount } from '../../entities/billing/club-student-count.ts';
import { Overage } from '../../entities/billing/overage.ts';
import { OverageCharge } from '../../entities/billing/overage-charge.ts';
import { OverageTurn } from '../../entities/billing/overage-turn.ts';
import type { ContextQuestions } from '../questions.ts';
import { closeBilling } from './closing.ts';
import { turnMonths } from './overages.ts';

export const billingParts = {
  closeClub: closeBilling,
  eraseStudent: null,
  exportStudent: null,
  changeEmail: null,
  clubRows: [
    { of: AddOn, by: 'club' },
    { of: BillingCustomer, by: 'club' },
    { of: BillingEvent, by: 'club' },
    { of: ClubFeatureChange, by: 'club' },
    { of: ClubPlan, by: 'club' },
    { of: ClubStudentChange, by: 'club' },
    { of: ClubStudentCount, by: 'club' },
    { of: Overage, by: 'club' },
    { of: OverageCharge, by: 'club' },
    { of: OverageTurn, by: 'club' },
  ],
  retention: [
    {
      async run({ db }, now) {
        const { turned, more } = await turnMonths(db, now);
        return { rows: { overageMonthsTurned: turned }, more };
      },
    },
  ],
} satisfies ContextQuestions;
