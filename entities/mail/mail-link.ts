/**
 * The target of a link in a campaign or a version of an automation. A link in a mail contains the id of this row and not the target, so
 * that no caller can choose the target.
 */
import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';

@Entity('mail_links')
@Index('mail_links_cause', ['causeId', 'position'], { unique: true })
@Index('mail_links_club', ['clubId'])
export class MailLink {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'mail_links_key' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The campaign that contains the link, or the version of an automation. */
  @Column({ type: 'uuid' })
  causeId: string;

  /** The number of the link in the compiled e-mail, from 0. */
  @Column({ type: 'smallint' })
  position: number;

  @Column({ type: 'text' })
  url: string;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'club_id', foreignKeyConstraintName: 'mail_links_club_key' })
  club: Relation<Club>;
}
