/** The answers of the context `sales` to the questions that concern every context (domain/questions.ts). */
import { Product } from '../../entities/sales/product.ts';
import { ProductDelivery } from '../../entities/sales/product-delivery.ts';
import { Purchase } from '../../entities/sales/purchase.ts';
import { SalesConnection } from '../../entities/sales/sales-connection.ts';
import { SalesNotice } from '../../entities/sales/sales-notice.ts';
import { Subscription } from '../../entities/sales/subscription.ts';
import { SubscriptionMark } from '../../entities/sales/subscription-mark.ts';
import type { ContextQuestions } from '../questions.ts';
import { closeSales } from './closing.ts';
import { retainNotices } from './retention.ts';
import { claimNotices, purgeStudentFromSales } from './student-removal.ts';
import { exportSales } from './student-export.ts';

export const salesParts = {
  closeClub: closeSales,
  eraseStudent: purgeStudentFromSales,
  exportStudent: exportSales,
  changeEmail: (tx, _vault, { clubId, studentId, before }) => claimNotices(tx, { clubId, studentId, email: before }),
  clubRows: [
    { of: Product, by: 'club' },
    { of: ProductDelivery, by: { parent: Product, column: 'productId' } },
    { of: Purchase, by: 'club' },
    { of: SalesConnection, by: 'club' },
    { of: SalesNotice, by: 'club' },
    { of: Subscription, by: 'club' },
    { of: SubscriptionMark, by: { parent: Subscription, column: 'subscriptionId' } },
  ],
  retention: [{ run: ({ db }, now) => retainNotices(db, now) }],
} satisfies ContextQuestions;
