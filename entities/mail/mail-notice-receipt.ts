/** A signed notice of a mail provider that was recorded. It is stored until its signature has expired (BNC-3). */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

@Entity('mail_notice_receipts')
export class MailNoticeReceipt {
  /** SHA-256 of the provider and of the part of the notice that no other notice has. */
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'mail_notice_receipts_key' })
  key: Buffer;

  /** SHA-256 of the body. */
  @Column({ type: 'bytea' })
  bodyDigest: Buffer;

  @Column({ type: 'timestamptz' })
  @Index('mail_notice_receipts_expiry')
  expiresAt: Date;
}
