/** English: the catalogue that defines all messages and their arguments (ICU message syntax). */
export const en = {
  'mail.greeting': 'Hello {name},',
  'mail.greeting_without_name': 'Hello,',
  'mail.student_without_name': 'there',

  'mail.student_verify_email.subject': 'Confirm your e-mail for {club}',
  'mail.student_verify_email.text':
    'Welcome to {club}! Please confirm your e-mail address within 24 hours.\n\nIf this was not you, you can ignore this message: nothing happens without the link.',
  'mail.student_verify_email.action': 'Confirm my e-mail',

  'mail.student_already_registered.subject': 'You already have an account at {club}',
  'mail.student_already_registered.text':
    'Someone, probably you, signed up at {club} with this e-mail address, which already has an account. Please sign in, or reset your password if you forgot it.\n\nIf this was not you, you can ignore this message: nothing was changed.',
  'mail.student_already_registered.action': 'Sign in',

  'mail.student_invitation.subject': 'Your account at {club}',
  'mail.student_invitation.text':
    '{club} opened an account for you. Confirm your e-mail address within 7 days to enter.',
  'mail.student_invitation.action': 'Enter the classroom',

  'mail.student_reset_password.subject': 'Reset your password for {club}',
  'mail.student_reset_password.text':
    'You can choose a new password within the next hour.\n\nIf this was not you, you can ignore this message: nothing happens without the link.',
  'mail.student_reset_password.action': 'Choose a new password',

  'mail.student_code.subject': '{code} is your sign-in code for {club}',
  'mail.student_code.text':
    'Your sign-in code is {code}. You can use it for 10 minutes.\n\nNever give it to anybody: we do not ask for it.',

  'mail.student_address_changed.subject': 'The e-mail address of your account at {club} was changed',
  'mail.student_address_changed.text':
    'An administrator of {club} gave your account another e-mail address. You can no longer sign in with this address.\n\nIf you did not ask for this, please write to {club}.',
  'mail.student_address_changed.action': 'Open the classroom',

  'mail.student_password_changed.subject': 'Your password for {club} was changed',
  'mail.student_password_changed.text':
    'The password of your account at {club} was changed, and all your other sessions have ended.\n\nIf this was not you, reset your password on the sign-in page now.',
  'mail.student_password_changed.action': 'Go to the sign-in page',

  'mail.student_new_device.subject': 'New sign-in to your account at {club}',
  'mail.student_new_device.text':
    'Somebody has signed in to your account at {club} from a new device.\n\nDevice: {device}.\nNetwork: {network}.\nTime: {at}.\n\nIf this was you, you need to do nothing. If not, end this session and change your password.',
  'mail.student_new_device.action': 'Look at your sessions',

  'mail.student_passkey_added.subject': 'A passkey was added to your account at {club}',
  'mail.student_passkey_added.text':
    'Your account at {club} has a new passkey. With it, a person can sign in without a password.\n\nIf this was not you, remove the passkey, choose a new password, and write to {club}.',
  'mail.student_passkey_added.action': 'Look at my passkeys',

  'mail.student_passkey_removed.subject': 'A passkey of your account at {club} was removed',
  'mail.student_passkey_removed.text':
    'A passkey of your account at {club} was removed. Nobody can sign in with it any more.\n\nIf this was not you, choose a new password, and write to {club}.',
  'mail.student_passkey_removed.action': 'Look at my passkeys',

  'mail.administrator_verify_email.subject': 'Confirm your e-mail',
  'mail.administrator_verify_email.text':
    'Welcome! Please confirm your e-mail address within 24 hours.\n\nIf this was not you, you can ignore this message: nothing happens without the link.',
  'mail.administrator_verify_email.action': 'Confirm my e-mail',

  'mail.administrator_already_registered.subject': 'You already have an account',
  'mail.administrator_already_registered.text':
    'Someone, probably you, signed up with this e-mail address, which already has an account. Please sign in. You can create more organizations in the dashboard.\n\nIf this was not you, you can ignore this message: nothing was changed.',
  'mail.administrator_already_registered.action': 'Sign in',

  'mail.administrator_reset_password.subject': 'Reset your password',
  'mail.administrator_reset_password.text':
    'You can choose a new password within the next hour.\n\nIf this was not you, you can ignore this message: nothing happens without the link.',
  'mail.administrator_reset_password.action': 'Choose a new password',

  'mail.administrator_password_changed.subject': 'Your password was changed',
  'mail.administrator_password_changed.text':
    'The password of your account was changed, and all your other sessions have ended.\n\nIf this was not you, reset your password on the sign-in page now.',
  'mail.administrator_password_changed.action': 'Go to the sign-in page',

  'mail.administrator_new_device.subject': 'New sign-in to your account',
  'mail.administrator_new_device.text':
    'Somebody has signed in to your account from a new device.\n\nDevice: {device}.\nNetwork: {network}.\nTime: {at}.\n\nIf this was you, you need to do nothing. If not, end this session and change your password.',
  'mail.administrator_new_device.action': 'Look at your sessions',

  'mail.unknown_device': 'Unknown',
  'mail.unknown_network': 'Unknown',

  'phone.code': '{code} is your code. You can use it for 10 minutes. Never give it to anybody.',

  'mail.administrator_invitation.subject': 'You are invited to administer {club}',
  'mail.administrator_invitation.text':
    'You are invited to administer {club}. You can accept the invitation within 7 days.\n\nIf you did not expect this invitation, you can ignore this message: nothing happens without the link.',
  'mail.administrator_invitation.action': 'Accept the invitation',

  'mail.administrator_factor_added.subject': 'A second factor was added to your account',
  'mail.administrator_factor_added.text':
    'A second factor was added to your account. From now on, each sign-in needs a second factor.\n\nIf this was not you, choose a new password, and remove the factor.',
  'mail.administrator_factor_added.action': 'Look at your second factors',

  'mail.administrator_factor_removed.subject': 'A second factor was removed from your account',
  'mail.administrator_factor_removed.text':
    'A second factor was removed from your account. It no longer opens your account.\n\nIf this was not you, choose a new password, and look at your second factors.',
  'mail.administrator_factor_removed.action': 'Look at your second factors',

  'mail.administrator_recovery_code_used.subject': 'A recovery code of your account was used',
  'mail.administrator_recovery_code_used.text':
    'A recovery code replaced the second factor of your account. This code cannot be used again. If you have few codes left, create new ones.\n\nIf this was not you, choose a new password, and create new recovery codes.',
  'mail.administrator_recovery_code_used.action': 'Look at your recovery codes',

  'mail.administrator_recovery_codes_replaced.subject': 'Your account has new recovery codes',
  'mail.administrator_recovery_codes_replaced.text':
    'New recovery codes were created for your account. The earlier codes no longer work.\n\nIf this was not you, choose a new password, and create new recovery codes.',
  'mail.administrator_recovery_codes_replaced.action': 'Look at your recovery codes',

  'mail.administrator_identity_code.subject': '{code} is your code to connect your sign-in',
  'mail.administrator_identity_code.text':
    'Your code is {code}. You can use it for 15 minutes to connect your identity provider with your account.\n\nNever give it to anybody. If you did not ask for it, you can ignore this message: nothing happens without the code.',

  'mail.administrator_identity_joined.subject': 'You can now sign in with an identity provider',
  'mail.administrator_identity_joined.text':
    'An identity provider was connected with your account. From now on, you can sign in with it.\n\nIf this was not you, disconnect it and choose a new password.',
  'mail.administrator_identity_joined.action': 'Look at the connections',

  'mail.administrator_identity_removed.subject': 'An identity provider was disconnected from your account',
  'mail.administrator_identity_removed.text':
    'An identity provider was disconnected from your account. You can no longer sign in with it.\n\nIf this was not you, choose a new password.',
  'mail.administrator_identity_removed.action': 'Look at the connections',

  'mail.api_key_created.subject': 'A new API key can act for {club}',
  'mail.api_key_created.text':
    'An administrator has created an API key for {club}. A program with this key can read or change the data that the key’s scopes permit.\n\nIf you did not expect this, revoke the key.',
  'mail.api_key_created.action': 'Look at the API keys',

  'mail.club_erasure_requested.subject': '{club} will be erased on {at}',
  'mail.club_erasure_requested.text':
    'An owner has requested the erasure of {club}. On {at} the club is erased with all students, courses, files and messages. After that, nobody can bring it back.\n\nUntil then the club works as before. Each owner can cancel the erasure in the settings of the club.',
  'mail.club_erasure_requested.action': 'Look at the erasure',

  'mail.club_erasure_reminder.subject': '{club} will be erased in three days',
  'mail.club_erasure_reminder.text':
    'On {at} {club} is erased with all students, courses, files and messages. After that, nobody can bring it back.\n\nIf the club is to stay, an owner must cancel the erasure in the settings of the club before that time.',
  'mail.club_erasure_reminder.action': 'Look at the erasure',

  'mail.club_erasure_canceled.subject': 'The erasure of {club} was canceled',
  'mail.club_erasure_canceled.text':
    'An owner has canceled the erasure of {club}. The club stays, and nothing was erased.\n\nIf you did not expect this, talk to the other owners of the club.',
  'mail.club_erasure_canceled.action': 'Look at the club',

  'mail.webhook_endpoint_failing.subject': 'A webhook endpoint of {club} was disabled',
  'mail.webhook_endpoint_failing.text':
    '{url} has accepted no message from {club} for five days. We disabled it, and canceled the messages that were waiting.\n\nOnce it works again, enable it: we then send new events, and you can recover the deliveries of the last 30 days.',
  'mail.webhook_endpoint_failing.action': 'Look at the endpoint',

  'mail.webhook_endpoint_gone.subject': 'A webhook endpoint of {club} was disabled',
  'mail.webhook_endpoint_gone.text':
    '{url} answered a message from {club} with “410 Gone”. We disabled it, and canceled the messages that were waiting.\n\nIf the address is still in use, enable the endpoint: we then send new events, and you can recover the deliveries of the last 30 days.',
  'mail.webhook_endpoint_gone.action': 'Look at the endpoint',

  'mail.webhook_endpoint_throttled.subject': 'A webhook endpoint of {club} has been failing for an hour',
  'mail.webhook_endpoint_throttled.text':
    '{url} has accepted no message from {club} for an hour. We try one message at a time, and the others wait.\n\nThey go out as soon as it accepts one. If it accepts none for five days, we disable it.',
  'mail.webhook_endpoint_throttled.action': 'Look at the endpoint',

  'mail.assignment_approved.subject': 'Your work at {club} was approved',
  'mail.assignment_approved.text':
    '{club} approved the work that you handed in{has_lesson, select, yes { for the lesson “{lesson}”} other {}}.',
  'mail.assignment_approved.action': 'Read the review',

  'mail.assignment_changes_requested.subject': '{club} asks for changes to your work',
  'mail.assignment_changes_requested.text':
    '{club} looked at the work that you handed in{has_lesson, select, yes { for the lesson “{lesson}”} other {}}, and asks for changes. Please read what to change, and hand in your work again.',
  'mail.assignment_changes_requested.action': 'Read the review',

  'mail.media_expiring.subject': 'The videos of {club} will be deleted in 7 days',
  'mail.media_expiring.text':
    'The plan of {club} does not include video hosting. The videos in its library will be deleted in 7 days; the library shows the date for each.\n\nDownload the videos that you want to keep. They all stay if the plan includes video hosting by then.',
  'mail.media_expiring.action': 'Look at the videos',

  'mail.mentorship_booked.subject': 'Your session at {club}: {at}',
  'mail.mentorship_booked.text':
    '{has_title, select, yes {“{title}”} other {Your session}}{has_person, select, yes { with {person}} other {}} begins on {at}.\n\nThe entry for your calendar is attached. Its page says where you meet. You can also reschedule or cancel the session there.',
  'mail.mentorship_booked.action': 'Look at the session',

  'mail.mentorship_canceled.subject': 'Your session at {club} is canceled: {at}',
  'mail.mentorship_canceled.text':
    '{has_title, select, yes {“{title}”} other {Your session}}{has_person, select, yes { with {person}} other {}} on {at} is canceled.',
  'mail.mentorship_canceled.action': 'Look at the session',

  'mail.mentorship_day_before.subject': 'Your session at {club} is in one day: {at}',
  'mail.mentorship_day_before.text':
    '{has_title, select, yes {“{title}”} other {Your session}}{has_person, select, yes { with {person}} other {}} begins on {at}.\n\nIf you cannot come, please reschedule or cancel it on its page.',
  'mail.mentorship_day_before.action': 'Look at the session',

  'mail.mentorship_hour_before.subject': 'Your session at {club} begins soon: {at}',
  'mail.mentorship_hour_before.text':
    '{has_title, select, yes {“{title}”} other {Your session}}{has_person, select, yes { with {person}} other {}} begins on {at}. Its page says where you meet.',
  'mail.mentorship_hour_before.action': 'Look at the session',

  'mail.mentorship_rating.subject': 'How was your session at {club}?',
  'mail.mentorship_rating.text':
    '{has_title, select, yes {“{title}”} other {Your session}}{has_person, select, yes { with {person}} other {}} was on {at}. Please say how it was: give one to five stars, with some words if you like.\n\nYou can do so for 30 days.',
  'mail.mentorship_rating.action': 'Rate the session',

  'mail.mentorship_mentor_booked.subject': 'A session at {club} was booked: {at}',
  'mail.mentorship_mentor_booked.text':
    '{has_title, select, yes {“{title}”} other {Your session}}{has_person, select, yes { with {person}} other {}} begins on {at}. The entry for your calendar is attached.',
  'mail.mentorship_mentor_booked.action': 'Look at the session',

  'mail.mentorship_mentor_canceled.subject': 'A session at {club} was canceled: {at}',
  'mail.mentorship_mentor_canceled.text':
    '{has_title, select, yes {“{title}”} other {Your session}}{has_person, select, yes { with {person}} other {}} on {at} is canceled.',
  'mail.mentorship_mentor_canceled.action': 'Look at the session',

  'mail.mentorship_mentor_replaced.subject': 'Another mentor took over a session at {club}: {at}',
  'mail.mentorship_mentor_replaced.text':
    '{has_title, select, yes {“{title}”} other {Your session}}{has_person, select, yes { with {person}} other {}} on {at} was rescheduled, and another mentor now holds it. You are free at that time.',
  'mail.mentorship_mentor_replaced.action': 'Look at the session',

  'footer.unsubscribe': 'Unsubscribe',

  'digest.subject': '{count, plural, one {# new post} other {# new posts}} at {club}',
  'digest.more_posts': '{count, plural, one {# more new post} other {# more new posts}}',
  'digest.at_least_more_posts': '{count, plural, one {At least # more new post} other {At least # more new posts}}',
  'digest.more_spaces':
    '{count, plural, one {There are new posts in # more space.} other {There are new posts in # more spaces.}}',
  'digest.post_without_words': 'A post without words',
  'digest.zone': 'Times are in {zone}.',
  'digest.reason': 'You get this daily e-mail because you or your club switched it on for these spaces.',

  'test_mail.subject': '[Test] {subject}',

  'calendar.session': 'Mentoring session',
  'time.moment': '{day} at {time} ({zone})',
  'time.zone_with_offset': '{zone}, {offset}',

  'unsubscribe.question.title': 'Unsubscribe?',
  'unsubscribe.question.text':
    '{kind, select, campaigns {You will get no more news from {club}.} automations {You will get no more automatic messages from {club}.} other {You will get no more daily e-mails about new posts from {club}.}} Messages that you ask for, such as a sign-in code, still arrive.',
  'unsubscribe.action':
    '{kind, select, campaigns {Stop news} automations {Stop automatic messages} other {Stop daily e-mails about new posts}}',
  'unsubscribe.done.title': 'You are unsubscribed',
  'unsubscribe.done.text':
    '{kind, select, campaigns {{club} no longer sends you news.} automations {{club} no longer sends you automatic messages.} other {{club} no longer sends you daily e-mails about new posts.}} An e-mail that was already sent may still arrive.',
  'unsubscribe.done.action': 'Subscribe again',
  'unsubscribe.again.title': 'You are subscribed again',
  'unsubscribe.again.text':
    '{kind, select, campaigns {{club} sends you news again.} automations {{club} sends you automatic messages again.} other {{club} sends you daily e-mails about new posts again.}}',
  'unsubscribe.other.subscribed':
    '{kind, select, campaigns {You get news from {club}.} automations {You get automatic messages from {club}.} other {You get daily e-mails about new posts from {club}.}}',
  'unsubscribe.other.unsubscribed':
    '{kind, select, campaigns {You get no news from {club}.} automations {You get no automatic messages from {club}.} other {You get no daily e-mails about new posts from {club}.}}',
  'unsubscribe.broken.title': 'This link does not work',
  'unsubscribe.broken.text':
    'The address is incomplete or was changed. Please open the link in the e-mail again, or copy all of it.',

  'certificate.title': 'Certificate of Completion',
  'certificate.certifies': 'This certifies that',
  'certificate.has_completed': 'has completed the course',
  'certificate.completed_on': 'completed on {day}',
  'certificate.date_of_issue': 'Date of issue · version {version}',
  'certificate.qr_code': 'QR code of {url}',
  'certificate.page_title': 'Certificate {code}',
  'certificate.valid.title': 'This certificate is valid',
  'certificate.valid.text':
    'Compare name, course and version with the certificate that you were shown: they must be the same.',
  'certificate.revoked.title': 'This certificate was revoked',
  'certificate.revoked.text': 'The club that issued it has revoked it. It no longer proves anything.',
  'certificate.withdrawn.title': 'This certificate was withdrawn',
  'certificate.withdrawn.text': 'It was issued, but the account of its holder was removed, and the name with it.',
  'certificate.unknown.title': 'No such certificate',
  'certificate.unknown.state': 'No certificate has this code',
  'certificate.unknown.text':
    'Please compare the code in the address with the printed one: twelve letters and digits in three groups of four. Capital or small letters, hyphens and spaces make no difference. The characters 0, 1, I, L and O never occur.',
  'certificate.name': 'Awarded to',
  'certificate.course': 'Course',
  'certificate.extent': 'Extent',
  'certificate.lessons': '{count, plural, one {# lesson} other {# lessons}}',
  'certificate.hours': '{count, plural, one {# hour} other {# hours}}',
  'certificate.completed': 'Completed',
  'certificate.issued': 'Issued',
  'certificate.revoked_on': 'Revoked',
  'certificate.version': 'Version',
  'certificate.code': 'Code',
  'certificate.sample.student': 'Ada Example',
  'certificate.sample.course': 'Knots for Beginners',

  'page.busy.title': 'Not now',
  'page.busy.text': 'Please try again shortly.',

  'preview.title': 'Preview: {subject}',
  'preview.of_nobody': 'As it looks to somebody about whom nothing is known.',
  'preview.of_student': 'The copy for {name}.',
  'preview.note':
    'A preview of {campaign}: it was sent to nobody, nothing is counted, and unsubscribing has no effect.',
  'preview.plain_text': 'Plain text',
  'preview.mail': 'The e-mail',
  'preview.mail_on_phone': 'The e-mail on a phone',
  'preview.too_large': 'The e-mail is too large to show here: on this page it would take {bytes, number} bytes.',
  'preview.link_leads_nowhere': 'Leads nowhere in a preview',
  'preview.gone.title': 'This preview has expired',
  'preview.gone.text': 'You can see a preview for 15 minutes. Please open a new one.',
  'preview.problems.title': 'No preview',
  'preview.problems.text':
    'The e-mail was changed and has problems now, or it is too large. Correct it, and open a new preview.',
  'preview.rate_limited.title': 'Too many previews',
  'preview.rate_limited.text': 'Please wait a minute, and open this page again.',
  'preview.busy.text': 'Too much is under way for this club. Please open this page again shortly.',

  'answer.model_unavailable': 'The assistant could not be reached. Please ask again.',
  'answer.model_overloaded': 'The assistant is overloaded. Please ask again in a while.',
  'answer.model_rejected': 'The assistant could not accept this question.',
  'answer.interrupted': 'The answer was interrupted. Please ask again.',
  'answer.model_silent': 'The assistant stopped responding. Please ask again.',
  'answer.internal_error': 'The answer could not be finished. Please ask again.',
  'answer.conversation_deleted': 'The conversation was deleted.',
  'answer.student_removed': 'The account was removed.',

  'refusal.no_place_for_students': 'This club cannot accept new students at the moment. Please contact the club.',
  'refusal.no_room_for_files': 'This club has no room for more files at the moment. Please contact the club.',
  'refusal.not_offered': 'This club does not offer this at the moment. Please contact the club.',

  'refusal.daily_limit_reached':
    'This agent takes {count, plural, one {# question} other {# questions}} in 24 hours from each student.',
  'refusal.ai_budget_spent': "The club's AI budget of this month is spent. Please ask next month.",
  'refusal.ai_budget_reserved':
    "What is left of the club's AI budget is reserved for answers that are being written. Please ask again in a while.",
  'refusal.no_access_to_agent': 'You have no access to this agent.',
  'refusal.answer_in_progress': 'This conversation is answering another question.',
  'refusal.too_many_answers_followed': 'You follow as many answers as you may at a time.',
  'refusal.answers_of_club_followed': 'Too many answers of this club are followed just now.',
  'refusal.answers_followed': 'Too many answers are followed just now.',

  'refusal.too_many_images':
    'You have {count, plural, one {# image} other {# images}} that no question shows. Ask with some of them first.',
  'refusal.too_many_avatar_uploads':
    'You have begun {count, plural, one {# upload} other {# uploads}} within 15 minutes. Wait for some minutes.',
  'refusal.too_many_unsent_files':
    'You have {count, plural, one {# file} other {# files}} that are not sent. Send some of them first; the others go after 7 days.',
  'refusal.too_many_post_files':
    'You have {count, plural, one {# file} other {# files}} that no post shows. Post some of them first; the others go after 7 days.',
  'refusal.file_in_sent_work':
    'The file is in work that you have sent. Withdraw that first, while it waits for its review.',
  'refusal.file_not_arrived': 'The file has not arrived yet, or not all of it. Send it to the address of its upload.',
  'refusal.upload_ended': 'The file has arrived, or its upload has failed.',
  'refusal.upload_too_slow': 'The upload has taken too long. Reserve another one.',
  'refusal.archive_not_ready': 'A file of the repository is still examined. Please try again shortly.',
  'refusal.nothing_to_download': 'There are no files to download in this repository.',

  'refusal.no_access_to_space': 'You have no access to this space.',
  'refusal.not_admitted_to_space': 'You cannot join this space.',
  'refusal.join_space_first': 'Join the space first.',
  'refusal.administrators_post': 'Administrators alone post in this space.',
  'refusal.author_alone': 'Only its author does that.',
  'refusal.post_locked': 'The post takes no comments any more.',
  'refusal.already_reported': 'You have reported this already.',

  'refusal.slot_taken': 'The mentor or you have another session at that time.',
  'refusal.slot_gone': 'No session that can be booked begins at this time any more. Choose another time.',
  'refusal.agenda_closed': 'The agenda of a session can be written until it begins.',
  'refusal.rating_closed': 'A session that took place can be rated for 30 days after its end.',
  'refusal.session_canceled': 'The session is canceled.',
  'refusal.too_late_to_cancel': 'It is too late to cancel or to move the session.',
  'refusal.booking_limit_reached': 'You have as many upcoming sessions of this mentorship as it allows.',

  'refusal.assignment_open': 'The lesson has a required assignment that is not approved yet.',
  'refusal.assignment_closed': 'The assignment takes nothing any more.',
  'refusal.work_waits_for_review': 'Your work waits for its review. Withdraw it to send other work.',
  'refusal.work_approved': 'Your work is approved.',
  'refusal.work_changed':
    'The attempt is not the last one, or does not wait for a review any more. Read the submission again.',

  'refusal.invalid_credentials': 'The e-mail or the password is wrong.',
  'refusal.email_not_verified':
    'Confirm your e-mail address first, with the link in your mailbox; if you had an account before, reset its password.',
  'refusal.password_short':
    'The password has {count, plural, one {# character} other {# characters}}; it must have at least {least}.',
  'refusal.password_repeats': 'The password repeats too few characters; choose another one.',
  'refusal.password_known': 'The password is one of those that are guessed first, or close to one; choose another one.',
  'refusal.password_personal':
    'The password is hardly more than your e-mail, your name or the name of the club; choose another one.',
  'refusal.passkey_limit_reached': 'Your account has as many passkeys as it may have. Remove one first.',
  'refusal.passkey_refused': 'This passkey was not accepted. Try again, or sign in in another way.',
  'refusal.password_exists': 'The account has a password already: it is changed by a reset.',
  'refusal.token_gone': 'This link or code is not valid: it was used, has expired or never existed.',
  'refusal.registration_link_used_up': 'The registration link has reached its limit of claims.',
  'refusal.too_many_sign_ups':
    'Too many people have signed up lately without confirming. Please try again in {minutes, plural, one {# minute} other {# minutes}}.',
  'refusal.too_many_sign_ups_of_network':
    'Too many people have signed up from your network lately without confirming. Please try again in {minutes, plural, one {# minute} other {# minutes}}.',
  'refusal.too_many_tries':
    'There were too many wrong tries. Please try again in {minutes, plural, one {# minute} other {# minutes}}.',

  'refusal.rate_limited':
    'You have done this too often. Please try again in {minutes, plural, one {# minute} other {# minutes}}.',
  'refusal.busy': 'Too many requests are under way. Please try again shortly.',
  'refusal.internal_error': 'Something went wrong on our side. Request id: {id}',
  'refusal.not_found': 'This is not here any more, or you cannot see it.',
  'refusal.unauthenticated': 'Please sign in again.',
  'refusal.certificate_revoked': 'The certificate is revoked.',
  'refusal.image_not_ready': 'An image is not ready yet, or is no longer there.',
  'refusal.file_not_ready': 'A file is not ready yet, was sent already, or is no longer there.',
} as const;
