/** A club's branding in mails, on pages and on certificates. */
import { Check, Column, Entity, JoinColumn, OneToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from './club.ts';

export interface BrandingLink {
  label: string;
  url: string;
}

@Entity('club_branding')
@Check('club_branding_accent', `accent_color ~ '^#[0-9a-f]{6}$'`)
export class ClubBranding {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  /** An image of the library that was public and ready when it was chosen. */
  @Column({ type: 'uuid', nullable: true })
  logoMediaId: string | null;

  /** The colour of buttons and links: `#` and six lower-case hexadecimal digits. */
  @Column({ type: 'text' })
  accentColor: string;

  /** The reply address of transactional mails. */
  @Column({ type: 'text', nullable: true })
  replyTo: string | null;

  @Column({ type: 'text', nullable: true })
  legalFooter: string | null;

  @Column({ type: 'jsonb', default: () => `'[]'` })
  links: BrandingLink[];

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  @OneToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn()
  club: Relation<Club>;
}
