/** A recovery code of an administrator, for a person without their second factors. It is deleted when it is used (FAC-6). */
import { Column, Entity, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Administrator } from './administrator.ts';

@Entity('recovery_codes')
export class RecoveryCode {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'recovery_codes_pkey' })
  administratorId: string;

  /** A keyed hash of the account and the code. It stays valid when the master key changes. */
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'recovery_codes_pkey' })
  codeHash: Buffer;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @ManyToOne(() => Administrator, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'administrator_id', foreignKeyConstraintName: 'recovery_codes_administrator_id_fkey' })
  administrator: Relation<Administrator>;
}
