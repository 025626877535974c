/** A second factor of an administrator: an authenticator app, or a passkey (FAC-4). */
import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { Administrator } from './administrator.ts';
import { factorKinds, type FactorKind } from './values.ts';

@Entity('second_factors')
@Index('second_factors_administrator', ['administratorId', 'createdAt', 'id'])
@Index('second_factors_unconfirmed', ['createdAt'], { where: 'confirmed_at IS NULL' })
@Index('second_factors_secret_key', { synchronize: false })
@Check('second_factors_kind', oneOf('kind', factorKinds))
@Check('second_factors_secret', `(kind = 'totp') = (secret IS NOT NULL)`)
export class SecondFactor {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'second_factors_pkey' })
  id: string;

  @Column({ type: 'uuid' })
  administratorId: string;

  @Column({ type: 'text' })
  kind: FactorKind;

  /** The person's own name for the factor. */
  @Column({ type: 'text' })
  name: string;

  /** The sealed secret of an authenticator app, in base32. Null for a passkey. */
  @Column({ type: 'bytea', nullable: true })
  secret: Buffer | null;

  /** The time step of the last code that was accepted. A code of this or an earlier step is refused. Null before the first code. */
  @Column({ type: 'integer', nullable: true })
  lastStep: number | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  /** Null until a first code proves that the app has the secret. Until then the factor opens nothing. */
  @Column({ type: 'timestamptz', nullable: true })
  confirmedAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  lastUsedAt: Date | null;

  @ManyToOne(() => Administrator, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'administrator_id', foreignKeyConstraintName: 'second_factors_administrator_id_fkey' })
  administrator: Relation<Administrator>;
}
