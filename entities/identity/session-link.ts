/** A link with which a club's own site opens the classroom for one of its students, once (ENTRY-1). */
import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { ApiKey } from './api-key.ts';
import { Student } from './student.ts';

@Entity('session_links')
@Index('session_links_student', ['studentId', 'createdAt'])
@Index('session_links_api_key', ['apiKeyId'])
@Index('session_links_expiry', ['expiresAt'])
export class SessionLink {
  /** SHA-256 of the token. The token itself is not stored. */
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'session_links_pkey' })
  tokenHash: Buffer;

  @Column({ type: 'uuid' })
  studentId: string;

  /** The key that created the link. If the key changes or ends, the link is void. */
  @Column({ type: 'uuid' })
  apiKeyId: string;

  /** The page of the classroom on which the student lands. Null if the caller named none. */
  @Column({ type: 'text', nullable: true })
  path: string | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  expiresAt: Date;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  @JoinColumn({ foreignKeyConstraintName: 'session_links_student_id_fkey' })
  student: Relation<Student>;

  @ManyToOne(() => ApiKey, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'api_key_id', foreignKeyConstraintName: 'session_links_api_key_id_fkey' })
  apiKey: Relation<ApiKey>;
}
