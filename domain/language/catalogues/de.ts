/**
 * Deutsch. Spricht Menschen mit „du“ an.
 * Begriffe: lesson Lektion, classroom Klassenzimmer, assignment Arbeit, review Rückmeldung, session Termin, space Raum, post Beitrag,
 * campaign news Neuigkeiten, unsubscribe abbestellen, sign in anmelden, sign up registrieren, delete löschen.
 */
import type { Catalogue } from '../languages.ts';

export const de: Catalogue = {
  'mail.greeting': 'Hallo {name},',
  'mail.greeting_without_name': 'Hallo,',
  'mail.student_without_name': 'du',

  'mail.student_verify_email.subject': 'Bestätige deine E-Mail-Adresse für {club}',
  'mail.student_verify_email.text':
    'Willkommen bei {club}! Bitte bestätige deine E-Mail-Adresse innerhalb von 24 Stunden.\n\nFalls du das nicht warst, kannst du diese Nachricht ignorieren: Ohne den Link passiert nichts.',
  'mail.student_verify_email.action': 'E-Mail-Adresse bestätigen',

  'mail.student_already_registered.subject': 'Du hast schon ein Konto bei {club}',
  'mail.student_already_registered.text':
    'Jemand, vermutlich du, wollte sich bei {club} mit dieser E-Mail-Adresse registrieren. Zu ihr gibt es schon ein Konto. Bitte melde dich an, oder setze dein Passwort zurück, falls du es vergessen hast.\n\nFalls du das nicht warst, kannst du diese Nachricht ignorieren: Es wurde nichts geändert.',
  'mail.student_already_registered.action': 'Anmelden',

  'mail.student_invitation.subject': 'Dein Konto bei {club}',
  'mail.student_invitation.text':
    '{club} hat ein Konto für dich eingerichtet. Bestätige deine E-Mail-Adresse innerhalb von 7 Tagen, um es zu nutzen.',
  'mail.student_invitation.action': 'Zum Klassenzimmer',

  'mail.student_reset_password.subject': 'Setze dein Passwort für {club} zurück',
  'mail.student_reset_password.text':
    'Du kannst innerhalb der nächsten Stunde ein neues Passwort wählen.\n\nFalls du das nicht warst, kannst du diese Nachricht ignorieren: Ohne den Link passiert nichts.',
  'mail.student_reset_password.action': 'Neues Passwort wählen',

  'mail.student_code.subject': '{code} ist dein Anmeldecode für {club}',
  'mail.student_code.text':
    'Dein Anmeldecode lautet {code}. Du kannst ihn 10 Minuten lang verwenden.\n\nGib ihn niemals weiter: Wir fragen nicht danach.',

  'mail.student_address_changed.subject': 'Die E-Mail-Adresse deines Kontos bei {club} wurde geändert',
  'mail.student_address_changed.text':
    'Die Verwaltung von {club} hat die E-Mail-Adresse deines Kontos geändert. Mit der bisherigen Adresse kannst du dich nicht mehr anmelden.\n\nFalls du nicht darum gebeten hast, schreibe bitte an {club}.',
  'mail.student_address_changed.action': 'Klassenzimmer öffnen',

  'mail.student_password_changed.subject': 'Dein Passwort für {club} wurde geändert',
  'mail.student_password_changed.text':
    'Das Passwort deines Kontos bei {club} wurde geändert, und alle deine anderen Sitzungen wurden beendet.\n\nFalls du das nicht warst, setze dein Passwort jetzt auf der Anmeldeseite zurück.',
  'mail.student_password_changed.action': 'Zur Anmeldeseite',

  'mail.student_new_device.subject': 'Neue Anmeldung in deinem Konto bei {club}',
  'mail.student_new_device.text':
    'In deinem Konto bei {club} hat sich jemand mit einem neuen Gerät angemeldet.\n\nGerät: {device}.\nNetzwerk: {network}.\nZeit: {at}.\n\nFalls du das warst, musst du nichts tun. Wenn nicht, beende diese Sitzung, und ändere dein Passwort.',
  'mail.student_new_device.action': 'Sitzungen ansehen',

  'mail.student_passkey_added.subject': 'Dein Konto bei {club} hat einen neuen Passkey',
  'mail.student_passkey_added.text':
    'Dein Konto bei {club} hat einen neuen Passkey. Damit kann man sich ohne Passwort anmelden.\n\nFalls du das nicht warst, entferne den Passkey, wähle ein neues Passwort und schreibe an {club}.',
  'mail.student_passkey_added.action': 'Meine Passkeys ansehen',

  'mail.student_passkey_removed.subject': 'Ein Passkey deines Kontos bei {club} wurde entfernt',
  'mail.student_passkey_removed.text':
    'Ein Passkey deines Kontos bei {club} wurde entfernt. Damit kann sich niemand mehr anmelden.\n\nFalls du das nicht warst, wähle ein neues Passwort und schreibe an {club}.',
  'mail.student_passkey_removed.action': 'Meine Passkeys ansehen',

  'mail.administrator_verify_email.subject': 'Bestätige deine E-Mail-Adresse',
  'mail.administrator_verify_email.text':
    'Willkommen! Bitte bestätige deine E-Mail-Adresse innerhalb von 24 Stunden.\n\nFalls du das nicht warst, kannst du diese Nachricht ignorieren: Ohne den Link passiert nichts.',
  'mail.administrator_verify_email.action': 'E-Mail-Adresse bestätigen',

  'mail.administrator_already_registered.subject': 'Du hast schon ein Konto',
  'mail.administrator_already_registered.text':
    'Jemand, vermutlich du, wollte sich mit dieser E-Mail-Adresse registrieren. Zu ihr gibt es schon ein Konto. Bitte melde dich an. Weitere Organisationen kannst du im Dashboard anlegen.\n\nFalls du das nicht warst, kannst du diese Nachricht ignorieren: Es wurde nichts geändert.',
  'mail.administrator_already_registered.action': 'Anmelden',

  'mail.administrator_reset_password.subject': 'Setze dein Passwort zurück',
  'mail.administrator_reset_password.text':
    'Du kannst innerhalb der nächsten Stunde ein neues Passwort wählen.\n\nFalls du das nicht warst, kannst du diese Nachricht ignorieren: Ohne den Link passiert nichts.',
  'mail.administrator_reset_password.action': 'Neues Passwort wählen',

  'mail.administrator_password_changed.subject': 'Dein Passwort wurde geändert',
  'mail.administrator_password_changed.text':
    'Das Passwort deines Kontos wurde geändert, und alle deine anderen Sitzungen wurden beendet.\n\nFalls du das nicht warst, setze dein Passwort jetzt auf der Anmeldeseite zurück.',
  'mail.administrator_password_changed.action': 'Zur Anmeldeseite',

  'mail.administrator_new_device.subject': 'Neue Anmeldung in deinem Konto',
  'mail.administrator_new_device.text':
    'In deinem Konto hat sich jemand mit einem neuen Gerät angemeldet.\n\nGerät: {device}.\nNetzwerk: {network}.\nZeit: {at}.\n\nFalls du das warst, musst du nichts tun. Wenn nicht, beende diese Sitzung, und ändere dein Passwort.',
  'mail.administrator_new_device.action': 'Sitzungen ansehen',

  'mail.unknown_device': 'Unbekannt',
  'mail.unknown_network': 'Unbekannt',

  'phone.code': '{code} ist dein Code. Er gilt 10 Minuten. Gib ihn nie weiter.',

  'mail.administrator_invitation.subject': 'Einladung zur Verwaltung von {club}',
  'mail.administrator_invitation.text':
    'Du bist eingeladen, {club} zu verwalten. Du kannst die Einladung innerhalb von 7 Tagen annehmen.\n\nFalls du diese Einladung nicht erwartest, kannst du diese Nachricht ignorieren: Ohne den Link passiert nichts.',
  'mail.administrator_invitation.action': 'Einladung annehmen',

  'mail.administrator_factor_added.subject': 'Dein Konto hat einen weiteren zweiten Faktor',
  'mail.administrator_factor_added.text':
    'Zu deinem Konto wurde ein zweiter Faktor hinzugefügt. Ab jetzt braucht jede Anmeldung einen zweiten Faktor.\n\nFalls du das nicht warst, wähle ein neues Passwort und entferne den Faktor.',
  'mail.administrator_factor_added.action': 'Zweite Faktoren ansehen',

  'mail.administrator_factor_removed.subject': 'Ein zweiter Faktor deines Kontos wurde entfernt',
  'mail.administrator_factor_removed.text':
    'Ein zweiter Faktor deines Kontos wurde entfernt. Er öffnet dein Konto nicht mehr.\n\nFalls du das nicht warst, wähle ein neues Passwort und sieh dir deine zweiten Faktoren an.',
  'mail.administrator_factor_removed.action': 'Zweite Faktoren ansehen',

  'mail.administrator_recovery_code_used.subject': 'Ein Wiederherstellungscode deines Kontos wurde benutzt',
  'mail.administrator_recovery_code_used.text':
    'Ein Wiederherstellungscode hat den zweiten Faktor deines Kontos ersetzt. Dieser Code kann nicht noch einmal benutzt werden. Wenn du nur noch wenige Codes hast, erstelle neue.\n\nFalls du das nicht warst, wähle ein neues Passwort und erstelle neue Wiederherstellungscodes.',
  'mail.administrator_recovery_code_used.action': 'Wiederherstellungscodes ansehen',

  'mail.administrator_recovery_codes_replaced.subject': 'Dein Konto hat neue Wiederherstellungscodes',
  'mail.administrator_recovery_codes_replaced.text':
    'Für dein Konto wurden neue Wiederherstellungscodes erstellt. Die früheren Codes gelten nicht mehr.\n\nFalls du das nicht warst, wähle ein neues Passwort und erstelle neue Wiederherstellungscodes.',
  'mail.administrator_recovery_codes_replaced.action': 'Wiederherstellungscodes ansehen',

  'mail.administrator_identity_code.subject': '{code} ist dein Code zum Verbinden deiner Anmeldung',
  'mail.administrator_identity_code.text':
    'Dein Code ist {code}. Du kannst ihn 15 Minuten lang verwenden, um deinen Identitätsanbieter mit deinem Konto zu verbinden.\n\nGib ihn niemandem. Wenn du ihn nicht angefordert hast, kannst du diese Nachricht ignorieren: Ohne den Code geschieht nichts.',

  'mail.administrator_identity_joined.subject': 'Du kannst dich jetzt mit einem Identitätsanbieter anmelden',
  'mail.administrator_identity_joined.text':
    'Ein Identitätsanbieter wurde mit deinem Konto verbunden. Ab jetzt kannst du dich damit anmelden.\n\nWenn du das nicht warst, trenne die Verbindung und wähle ein neues Passwort.',
  'mail.administrator_identity_joined.action': 'Verbindungen ansehen',

  'mail.administrator_identity_removed.subject': 'Ein Identitätsanbieter wurde von deinem Konto getrennt',
  'mail.administrator_identity_removed.text':
    'Ein Identitätsanbieter wurde von deinem Konto getrennt. Du kannst dich nicht mehr damit anmelden.\n\nWenn du das nicht warst, wähle ein neues Passwort.',
  'mail.administrator_identity_removed.action': 'Verbindungen ansehen',

  'mail.api_key_created.subject': 'Ein neuer API-Schlüssel kann für {club} handeln',
  'mail.api_key_created.text':
    'Jemand aus der Administration hat einen API-Schlüssel für {club} erstellt. Ein Programm mit diesem Schlüssel kann die Daten lesen oder ändern, die seine Berechtigungen erlauben.\n\nWenn du das nicht erwartet hast, widerrufe den Schlüssel.',
  'mail.api_key_created.action': 'API-Schlüssel ansehen',

  'mail.club_erasure_requested.subject': '{club} wird am {at} gelöscht',
  'mail.club_erasure_requested.text':
    'Ein Inhaber oder eine Inhaberin hat die Löschung von {club} verlangt. Am {at} wird der Club mit allen Teilnehmenden, Kursen, Dateien und Nachrichten gelöscht. Danach kann ihn niemand wiederherstellen.\n\nBis dahin funktioniert der Club wie bisher. Wer Inhaber oder Inhaberin ist, kann die Löschung in den Einstellungen des Clubs abbrechen.',
  'mail.club_erasure_requested.action': 'Löschung ansehen',

  'mail.club_erasure_reminder.subject': '{club} wird in drei Tagen gelöscht',
  'mail.club_erasure_reminder.text':
    'Am {at} wird {club} mit allen Teilnehmenden, Kursen, Dateien und Nachrichten gelöscht. Danach kann den Club niemand wiederherstellen.\n\nSoll der Club bleiben, muss ein Inhaber oder eine Inhaberin die Löschung vorher in den Einstellungen des Clubs abbrechen.',
  'mail.club_erasure_reminder.action': 'Löschung ansehen',

  'mail.club_erasure_canceled.subject': 'Die Löschung von {club} wurde abgebrochen',
  'mail.club_erasure_canceled.text':
    'Ein Inhaber oder eine Inhaberin hat die Löschung von {club} abgebrochen. Der Club bleibt, und nichts wurde gelöscht.\n\nFalls du das nicht erwartet hast, sprich mit den anderen Inhabern des Clubs.',
  'mail.club_erasure_canceled.action': 'Club ansehen',

  'mail.webhook_endpoint_failing.subject': 'Ein Webhook-Endpunkt von {club} wurde deaktiviert',
  'mail.webhook_endpoint_failing.text':
    '{url} nimmt seit fünf Tagen keine Nachricht von {club} an. Wir haben den Endpunkt deaktiviert und die wartenden Nachrichten verworfen.\n\nSobald er wieder funktioniert, aktiviere ihn: Dann werden neue Ereignisse gesendet, und du kannst Zustellungen der letzten 30 Tage nachholen.',
  'mail.webhook_endpoint_failing.action': 'Endpunkt ansehen',

  'mail.webhook_endpoint_gone.subject': 'Ein Webhook-Endpunkt von {club} wurde deaktiviert',
  'mail.webhook_endpoint_gone.text':
    '{url} hat eine Nachricht von {club} mit „410 Gone“ beantwortet. Wir haben den Endpunkt deaktiviert und die wartenden Nachrichten verworfen.\n\nFalls die Adresse noch verwendet wird, aktiviere den Endpunkt: Dann werden neue Ereignisse gesendet, und du kannst Zustellungen der letzten 30 Tage nachholen.',
  'mail.webhook_endpoint_gone.action': 'Endpunkt ansehen',

  'mail.webhook_endpoint_throttled.subject': 'Ein Webhook-Endpunkt von {club} ist seit einer Stunde gestört',
  'mail.webhook_endpoint_throttled.text':
    '{url} nimmt seit einer Stunde keine Nachricht von {club} an. Wir versuchen es mit einer Nachricht nach der anderen, die übrigen warten.\n\nSobald der Endpunkt eine annimmt, senden wir alle. Nimmt er fünf Tage lang keine an, deaktivieren wir ihn.',
  'mail.webhook_endpoint_throttled.action': 'Endpunkt ansehen',

  'mail.assignment_approved.subject': 'Deine Arbeit bei {club} wurde angenommen',
  'mail.assignment_approved.text':
    '{club} hat die Arbeit angenommen, die du{has_lesson, select, yes { in der Lektion „{lesson}“} other {}} abgegeben hast.',
  'mail.assignment_approved.action': 'Rückmeldung lesen',

  'mail.assignment_changes_requested.subject': '{club} bittet um Änderungen an deiner Arbeit',
  'mail.assignment_changes_requested.text':
    '{club} hat sich die Arbeit angesehen, die du{has_lesson, select, yes { in der Lektion „{lesson}“} other {}} abgegeben hast, und bittet um Änderungen. Bitte lies, was du ändern sollst, und gib sie noch einmal ab.',
  'mail.assignment_changes_requested.action': 'Rückmeldung lesen',

  'mail.media_expiring.subject': 'Videos von {club} werden in 7 Tagen gelöscht',
  'mail.media_expiring.text':
    'Der Tarif von {club} enthält kein Video-Hosting. Die Videos der Bibliothek werden in 7 Tagen gelöscht; die Bibliothek zeigt zu jedem das Datum.\n\nLade die Videos herunter, die du behalten willst. Mit einem Tarif, der Video-Hosting enthält, bleiben alle erhalten.',
  'mail.media_expiring.action': 'Videos ansehen',

  'mail.mentorship_booked.subject': 'Dein Termin bei {club}: {at}',
  'mail.mentorship_booked.text':
    '{has_title, select, yes {„{title}“} other {Dein Termin}}{has_person, select, yes { mit {person}} other {}} beginnt am {at}.\n\nDen Eintrag für deinen Kalender findest du im Anhang. Auf der Seite des Termins steht, wo ihr euch trefft; dort kannst du ihn auch verschieben oder absagen.',
  'mail.mentorship_booked.action': 'Termin ansehen',

  'mail.mentorship_canceled.subject': 'Dein Termin bei {club} ist abgesagt: {at}',
  'mail.mentorship_canceled.text':
    '{has_title, select, yes {Der Termin „{title}“} other {Dein Termin}}{has_person, select, yes { mit {person}} other {}} am {at} ist abgesagt.',
  'mail.mentorship_canceled.action': 'Termin ansehen',

  'mail.mentorship_day_before.subject': 'Noch ein Tag bis zu deinem Termin bei {club}: {at}',
  'mail.mentorship_day_before.text':
    '{has_title, select, yes {„{title}“} other {Dein Termin}}{has_person, select, yes { mit {person}} other {}} beginnt am {at}.\n\nFalls du nicht kommen kannst, verschiebe den Termin bitte auf seiner Seite oder sage ihn dort ab.',
  'mail.mentorship_day_before.action': 'Termin ansehen',

  'mail.mentorship_hour_before.subject': 'Dein Termin bei {club} beginnt gleich: {at}',
  'mail.mentorship_hour_before.text':
    '{has_title, select, yes {„{title}“} other {Dein Termin}}{has_person, select, yes { mit {person}} other {}} beginnt am {at}. Auf der Seite des Termins steht, wo ihr euch trefft.',
  'mail.mentorship_hour_before.action': 'Termin ansehen',

  'mail.mentorship_rating.subject': 'Wie war dein Termin bei {club}?',
  'mail.mentorship_rating.text':
    '{has_title, select, yes {Der Termin „{title}“} other {Dein Termin}}{has_person, select, yes { mit {person}} other {}} war am {at}. Wie war er? Vergib einen bis fünf Sterne, und schreib ein paar Worte dazu, wenn du magst.\n\nDu kannst ihn 30 Tage lang bewerten.',
  'mail.mentorship_rating.action': 'Termin bewerten',

  'mail.mentorship_mentor_booked.subject': 'Ein Termin bei {club} wurde gebucht: {at}',
  'mail.mentorship_mentor_booked.text':
    '{has_title, select, yes {„{title}“} other {Dein Termin}}{has_person, select, yes { mit {person}} other {}} beginnt am {at}. Den Eintrag für deinen Kalender findest du im Anhang.',
  'mail.mentorship_mentor_booked.action': 'Termin ansehen',

  'mail.mentorship_mentor_canceled.subject': 'Ein Termin bei {club} wurde abgesagt: {at}',
  'mail.mentorship_mentor_canceled.text':
    '{has_title, select, yes {Der Termin „{title}“} other {Dein Termin}}{has_person, select, yes { mit {person}} other {}} am {at} ist abgesagt.',
  'mail.mentorship_mentor_canceled.action': 'Termin ansehen',

  'mail.mentorship_mentor_replaced.subject': 'Jemand anderes übernimmt einen Termin bei {club}: {at}',
  'mail.mentorship_mentor_replaced.text':
    '{has_title, select, yes {Der Termin „{title}“} other {Dein Termin}}{has_person, select, yes { mit {person}} other {}} am {at} wurde verschoben, und jemand anderes leitet ihn jetzt. Diese Zeit ist bei dir wieder frei.',
  'mail.mentorship_mentor_replaced.action': 'Termin ansehen',

  'footer.unsubscribe': 'Abbestellen',

  'digest.subject': '{count, plural, one {# neuer Beitrag} other {# neue Beiträge}} bei {club}',
  'digest.more_posts': '{count, plural, one {# weiterer neuer Beitrag} other {# weitere neue Beiträge}}',
  'digest.at_least_more_posts':
    '{count, plural, one {Mindestens # weiterer neuer Beitrag} other {Mindestens # weitere neue Beiträge}}',
  'digest.more_spaces':
    '{count, plural, one {In einem weiteren Raum gibt es neue Beiträge.} other {In # weiteren Räumen gibt es neue Beiträge.}}',
  'digest.post_without_words': 'Ein Beitrag ohne Text',
  'digest.zone': 'Zeitzone: {zone}.',
  'digest.reason': 'Du bekommst diese tägliche E-Mail, weil du oder dein Club sie für diese Räume eingeschaltet hat.',

  'test_mail.subject': '[Test] {subject}',

  'calendar.session': 'Mentoring-Termin',
  'time.moment': '{day} um {time} Uhr ({zone})',
  'time.zone_with_offset': '{zone}, {offset}',

  'unsubscribe.question.title': 'Abbestellen?',
  'unsubscribe.question.text':
    '{kind, select, campaigns {Du bekommst keine Neuigkeiten von {club} mehr.} automations {Du bekommst keine automatischen Nachrichten von {club} mehr.} other {Du bekommst keine täglichen E-Mails über neue Beiträge von {club} mehr.}} Nachrichten, die du anforderst, etwa ein Anmeldecode, kommen weiterhin an.',
  'unsubscribe.action':
    '{kind, select, campaigns {Neuigkeiten abbestellen} automations {Automatische Nachrichten abbestellen} other {Tägliche E-Mails über neue Beiträge abbestellen}}',
  'unsubscribe.done.title': 'Abbestellt',
  'unsubscribe.done.text':
    '{kind, select, campaigns {{club} schickt dir keine Neuigkeiten mehr.} automations {{club} schickt dir keine automatischen Nachrichten mehr.} other {{club} schickt dir keine täglichen E-Mails über neue Beiträge mehr.}} Eine E-Mail, die schon unterwegs ist, kann noch ankommen.',
  'unsubscribe.done.action': 'Wieder abonnieren',
  'unsubscribe.again.title': 'Du bekommst wieder E-Mails',
  'unsubscribe.again.text':
    '{kind, select, campaigns {{club} schickt dir wieder Neuigkeiten.} automations {{club} schickt dir wieder automatische Nachrichten.} other {{club} schickt dir wieder tägliche E-Mails über neue Beiträge.}}',
  'unsubscribe.other.subscribed':
    '{kind, select, campaigns {Du bekommst Neuigkeiten von {club}.} automations {Du bekommst automatische Nachrichten von {club}.} other {Du bekommst tägliche E-Mails über neue Beiträge von {club}.}}',
  'unsubscribe.other.unsubscribed':
    '{kind, select, campaigns {Du bekommst keine Neuigkeiten von {club}.} automations {Du bekommst keine automatischen Nachrichten von {club}.} other {Du bekommst keine täglichen E-Mails über neue Beiträge von {club}.}}',
  'unsubscribe.broken.title': 'Dieser Link funktioniert nicht',
  'unsubscribe.broken.text':
    'Die Adresse ist unvollständig oder wurde verändert. Bitte öffne den Link in der E-Mail noch einmal, oder kopiere ihn ganz.',

  'certificate.title': 'Abschlusszertifikat',
  'certificate.certifies': 'Hiermit wird bestätigt:',
  'certificate.has_completed': 'hat den Kurs abgeschlossen',
  'certificate.completed_on': 'abgeschlossen am {day}',
  'certificate.date_of_issue': 'Ausstellungsdatum · Version {version}',
  'certificate.qr_code': 'QR-Code von {url}',
  'certificate.page_title': 'Zertifikat {code}',
  'certificate.valid.title': 'Dieses Zertifikat ist gültig',
  'certificate.valid.text':
    'Vergleiche Name, Kurs und Version mit dem Zertifikat, das dir gezeigt wurde: Sie müssen übereinstimmen.',
  'certificate.revoked.title': 'Dieses Zertifikat wurde widerrufen',
  'certificate.revoked.text': 'Der Club, der es ausgestellt hat, hat es zurückgezogen. Es weist nichts mehr nach.',
  'certificate.withdrawn.title': 'Dieses Zertifikat wurde eingezogen',
  'certificate.withdrawn.text':
    'Es wurde ausgestellt, aber das Konto der genannten Person wurde gelöscht, und mit ihm der Name.',
  'certificate.unknown.title': 'Kein solches Zertifikat',
  'certificate.unknown.state': 'Zu diesem Code gibt es kein Zertifikat',
  'certificate.unknown.text':
    'Bitte vergleiche den Code in der Adresse mit dem gedruckten: zwölf Buchstaben und Ziffern in drei Vierergruppen. Groß- und Kleinschreibung, Bindestriche und Leerzeichen spielen keine Rolle. Die Zeichen 0, 1, I, L und O kommen nie vor.',
  'certificate.name': 'Verliehen an',
  'certificate.course': 'Kurs',
  'certificate.extent': 'Umfang',
  'certificate.lessons': '{count, plural, one {# Lektion} other {# Lektionen}}',
  'certificate.hours': '{count, plural, one {# Stunde} other {# Stunden}}',
  'certificate.completed': 'Abgeschlossen',
  'certificate.issued': 'Ausgestellt',
  'certificate.revoked_on': 'Widerrufen',
  'certificate.version': 'Version',
  'certificate.code': 'Code',
  'certificate.sample.student': 'Ada Beispiel',
  'certificate.sample.course': 'Knoten für den Einstieg',

  'page.busy.title': 'Gerade nicht möglich',
  'page.busy.text': 'Bitte versuche es gleich noch einmal.',

  'preview.title': 'Vorschau: {subject}',
  'preview.of_nobody': 'So sieht sie für eine Person aus, über die nichts bekannt ist.',
  'preview.of_student': 'Die Ausgabe für {name}.',
  'preview.note':
    'Eine Vorschau von {campaign}: Niemand hat sie bekommen, nichts wird gezählt, und das Abbestellen bewirkt nichts.',
  'preview.plain_text': 'Reiner Text',
  'preview.mail': 'Die E-Mail',
  'preview.mail_on_phone': 'Die E-Mail auf dem Telefon',
  'preview.too_large':
    'Die E-Mail ist zu groß, um sie hier zu zeigen: Auf dieser Seite hätte sie {bytes, number} Bytes.',
  'preview.link_leads_nowhere': 'Führt in einer Vorschau nirgendwohin',
  'preview.gone.title': 'Diese Vorschau ist abgelaufen',
  'preview.gone.text': 'Eine Vorschau ist 15 Minuten lang zu sehen. Bitte öffne eine neue.',
  'preview.problems.title': 'Keine Vorschau',
  'preview.problems.text':
    'Die E-Mail wurde geändert und hat jetzt Probleme, oder sie ist zu groß. Korrigiere sie, und öffne eine neue Vorschau.',
  'preview.rate_limited.title': 'Zu viele Vorschauen',
  'preview.rate_limited.text': 'Bitte warte eine Minute, und öffne diese Seite noch einmal.',
  'preview.busy.text': 'Für diesen Club ist gerade zu viel in Arbeit. Bitte öffne diese Seite gleich noch einmal.',

  'answer.model_unavailable': 'Der Assistent war nicht zu erreichen. Bitte frage noch einmal.',
  'answer.model_overloaded': 'Der Assistent ist überlastet. Bitte frage etwas später noch einmal.',
  'answer.model_rejected': 'Der Assistent konnte diese Frage nicht annehmen.',
  'answer.interrupted': 'Die Antwort wurde unterbrochen. Bitte frage noch einmal.',
  'answer.model_silent': 'Der Assistent antwortet nicht mehr. Bitte frage noch einmal.',
  'answer.internal_error': 'Die Antwort konnte nicht abgeschlossen werden. Bitte frage noch einmal.',
  'answer.conversation_deleted': 'Die Unterhaltung wurde gelöscht.',
  'answer.student_removed': 'Das Konto wurde gelöscht.',

  'refusal.no_place_for_students': 'Dieser Club kann zurzeit niemanden mehr aufnehmen. Bitte wende dich an den Club.',
  'refusal.no_room_for_files':
    'Dieser Club hat zurzeit keinen Platz für weitere Dateien. Bitte wende dich an den Club.',
  'refusal.not_offered': 'Dieser Club bietet das zurzeit nicht an. Bitte wende dich an den Club.',

  'refusal.daily_limit_reached':
    'Dieser Assistent nimmt von jeder Person {count, plural, one {# Frage} other {# Fragen}} in 24 Stunden an.',
  'refusal.ai_budget_spent':
    'Das KI-Budget des Clubs für diesen Monat ist aufgebraucht. Bitte frage im nächsten Monat.',
  'refusal.ai_budget_reserved':
    'Der Rest des KI-Budgets des Clubs ist für Antworten vorgemerkt, die gerade entstehen. Bitte frage in einer Weile noch einmal.',
  'refusal.no_access_to_agent': 'Du hast keinen Zugang zu diesem Assistenten.',
  'refusal.answer_in_progress': 'In dieser Unterhaltung wird gerade eine andere Frage beantwortet.',
  'refusal.too_many_answers_followed': 'Du verfolgst schon so viele Antworten gleichzeitig, wie möglich ist.',
  'refusal.answers_of_club_followed':
    'In diesem Club entstehen gerade zu viele Antworten. Bitte versuche es gleich noch einmal.',
  'refusal.answers_followed': 'Gerade entstehen zu viele Antworten. Bitte versuche es gleich noch einmal.',

  'refusal.too_many_images':
    'Du hast {count, plural, one {# Bild} other {# Bilder}}, zu denen keine Frage gehört. Stelle zuerst eine Frage mit einem Teil davon.',
  'refusal.too_many_avatar_uploads':
    'Du hast innerhalb von 15 Minuten {count, plural, one {# Upload} other {# Uploads}} begonnen. Bitte warte einige Minuten.',
  'refusal.too_many_unsent_files':
    'Du hast {count, plural, one {# Datei} other {# Dateien}}, die nicht eingereicht sind. Reiche zuerst einige davon ein; die anderen werden nach 7 Tagen gelöscht.',
  'refusal.too_many_post_files':
    'Du hast {count, plural, one {# Datei} other {# Dateien}}, die in keinem Beitrag stehen. Veröffentliche zuerst einige davon; die anderen werden nach 7 Tagen gelöscht.',
  'refusal.file_in_sent_work':
    'Die Datei gehört zu einer Arbeit, die du eingereicht hast. Ziehe die Arbeit zuerst zurück, solange sie auf ihre Bewertung wartet.',
  'refusal.file_not_arrived':
    'Die Datei ist noch nicht oder nicht vollständig angekommen. Bitte sende sie noch einmal.',
  'refusal.upload_ended': 'Die Datei ist schon angekommen, oder der Upload ist fehlgeschlagen.',
  'refusal.upload_too_slow': 'Der Upload hat zu lange gedauert. Bitte beginne noch einmal.',
  'refusal.archive_not_ready': 'Eine Datei wird noch geprüft. Bitte versuche es gleich noch einmal.',
  'refusal.nothing_to_download': 'Hier gibt es keine Dateien zum Herunterladen.',

  'refusal.no_access_to_space': 'Du hast keinen Zugang zu diesem Bereich.',
  'refusal.not_admitted_to_space': 'Du kannst diesem Bereich nicht beitreten.',
  'refusal.join_space_first': 'Tritt dem Bereich zuerst bei.',
  'refusal.administrators_post': 'In diesem Bereich schreibt nur die Leitung des Clubs.',
  'refusal.author_alone': 'Das kann nur, wer es geschrieben hat.',
  'refusal.post_locked': 'Der Beitrag nimmt keine Kommentare mehr an.',
  'refusal.already_reported': 'Du hast das schon gemeldet.',

  'refusal.slot_taken': 'Zu dieser Zeit ist schon ein anderer Termin gebucht.',
  'refusal.slot_gone': 'Zu dieser Zeit beginnt kein Termin, der gebucht werden kann. Bitte wähle eine andere Zeit.',
  'refusal.agenda_closed': 'Die Themen eines Termins lassen sich bis zu seinem Beginn aufschreiben.',
  'refusal.rating_closed': 'Ein Termin, der stattgefunden hat, kann 30 Tage lang nach seinem Ende bewertet werden.',
  'refusal.session_canceled': 'Der Termin ist abgesagt.',
  'refusal.too_late_to_cancel': 'Es ist zu spät, um den Termin abzusagen oder zu verschieben.',
  'refusal.booking_limit_reached': 'Du hast schon so viele kommende Termine dieses Mentorings, wie möglich sind.',

  'refusal.assignment_open': 'Zu der Lektion gehört eine Pflichtaufgabe, die noch nicht angenommen ist.',
  'refusal.assignment_closed': 'Die Aufgabe nimmt nichts mehr an.',
  'refusal.work_waits_for_review':
    'Deine Arbeit wartet auf ihre Bewertung. Ziehe sie zurück, um eine andere einzureichen.',
  'refusal.work_approved': 'Deine Arbeit ist angenommen.',
  'refusal.work_changed':
    'Diese Fassung ist nicht die letzte oder wartet nicht mehr auf eine Bewertung. Bitte öffne die Arbeit noch einmal.',

  'refusal.invalid_credentials': 'Die E-Mail-Adresse oder das Passwort ist falsch.',
  'refusal.email_not_verified':
    'Bestätige zuerst deine E-Mail-Adresse, mit dem Link in deinem Postfach; wenn du schon ein Konto hattest, setze dessen Passwort zurück.',
  'refusal.password_short':
    'Das Passwort hat {count, plural, one {# Zeichen} other {# Zeichen}}; es muss mindestens {least} haben.',
  'refusal.password_repeats': 'Das Passwort besteht aus zu wenigen verschiedenen Zeichen; bitte wähle ein anderes.',
  'refusal.password_known':
    'Das Passwort gehört zu denen, die zuerst geraten werden, oder ähnelt einem davon; bitte wähle ein anderes.',
  'refusal.password_personal':
    'Das Passwort ist kaum mehr als deine E-Mail-Adresse, dein Name oder der Name des Clubs; bitte wähle ein anderes.',
  'refusal.passkey_limit_reached': 'Dein Konto hat schon so viele Passkeys, wie es haben darf. Entferne zuerst einen.',
  'refusal.passkey_refused':
    'Dieser Passkey wurde nicht angenommen. Versuche es noch einmal oder melde dich auf andere Weise an.',
  'refusal.password_exists': 'Das Konto hat schon ein Passwort. Setze es zurück, um es zu ändern.',
  'refusal.token_gone':
    'Dieser Link oder Code ist nicht gültig: Er wurde schon benutzt, ist abgelaufen oder hat nie existiert.',
  'refusal.registration_link_used_up': 'Der Anmeldelink wurde schon so oft benutzt, wie er darf.',
  'refusal.too_many_sign_ups':
    'Zu viele Menschen haben sich in letzter Zeit angemeldet, ohne zu bestätigen. Bitte versuche es in {minutes, plural, one {# Minute} other {# Minuten}} noch einmal.',
  'refusal.too_many_sign_ups_of_network':
    'Aus deinem Netz haben sich in letzter Zeit zu viele Menschen angemeldet, ohne zu bestätigen. Bitte versuche es in {minutes, plural, one {# Minute} other {# Minuten}} noch einmal.',
  'refusal.too_many_tries':
    'Es gab zu viele falsche Versuche. Bitte versuche es in {minutes, plural, one {# Minute} other {# Minuten}} noch einmal.',

  'refusal.rate_limited':
    'Das war zu oft. Bitte versuche es in {minutes, plural, one {# Minute} other {# Minuten}} noch einmal.',
  'refusal.busy': 'Es ist gerade zu viel in Arbeit. Bitte versuche es gleich noch einmal.',
  'refusal.internal_error': 'Bei uns ist etwas schiefgegangen. Nummer der Anfrage: {id}',
  'refusal.not_found': 'Das gibt es hier nicht mehr, oder du kannst es nicht sehen.',
  'refusal.unauthenticated': 'Bitte melde dich noch einmal an.',
  'refusal.certificate_revoked': 'Das Zertifikat ist widerrufen.',
  'refusal.image_not_ready': 'Ein Bild ist noch nicht bereit oder nicht mehr da.',
  'refusal.file_not_ready': 'Eine Datei ist noch nicht bereit, schon eingereicht oder nicht mehr da.',
};
