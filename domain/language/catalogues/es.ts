/**
 * Español. Trata a las personas de «tú», con palabras de ambos lados del Atlántico (sin «vosotros»).
 * Términos: lesson lección, classroom aula, assignment trabajo, review revisión, session sesión, space espacio, post publicación,
 * campaign news novedades, unsubscribe cancelar la suscripción, e-mail correo, delete borrar o eliminar.
 */
import type { Catalogue } from '../languages.ts';

export const es: Catalogue = {
  'mail.greeting': 'Hola, {name}:',
  'mail.greeting_without_name': 'Hola:',
  'mail.student_without_name': 'estudiante',

  'mail.student_verify_email.subject': 'Confirma tu correo en {club}',
  'mail.student_verify_email.text':
    '¡Te damos la bienvenida a {club}! Confirma tu dirección de correo en las próximas 24 horas.\n\nSi no has sido tú, puedes ignorar este mensaje: no ocurre nada sin el enlace.',
  'mail.student_verify_email.action': 'Confirmar mi correo',

  'mail.student_already_registered.subject': 'Ya tienes una cuenta en {club}',
  'mail.student_already_registered.text':
    'Alguien, probablemente tú, se ha registrado en {club} con esta dirección de correo, que ya tiene una cuenta. Inicia sesión con ella o restablece la contraseña si la has olvidado.\n\nSi no has sido tú, puedes ignorar este mensaje: no se ha cambiado nada.',
  'mail.student_already_registered.action': 'Iniciar sesión',

  'mail.student_invitation.subject': 'Tu cuenta en {club}',
  'mail.student_invitation.text':
    '{club} ha creado una cuenta para ti. Para entrar, confirma tu dirección de correo en los próximos 7 días.',
  'mail.student_invitation.action': 'Entrar en el aula',

  'mail.student_reset_password.subject': 'Restablece tu contraseña en {club}',
  'mail.student_reset_password.text':
    'Puedes elegir una contraseña nueva durante la próxima hora.\n\nSi no has sido tú, puedes ignorar este mensaje: no ocurre nada sin el enlace.',
  'mail.student_reset_password.action': 'Elegir una contraseña nueva',

  'mail.student_code.subject': '{code} es tu código de acceso a {club}',
  'mail.student_code.text':
    'Tu código de acceso es {code}. Puedes usarlo durante 10 minutos.\n\nNo se lo des nunca a nadie: nosotros no lo pedimos.',

  'mail.student_address_changed.subject': 'El correo de tu cuenta en {club} ha cambiado',
  'mail.student_address_changed.text':
    'La administración de {club} ha cambiado la dirección de correo de tu cuenta. Ya no puedes iniciar sesión con esta dirección.\n\nSi no has pedido este cambio, escribe a {club}.',
  'mail.student_address_changed.action': 'Abrir el aula',

  'mail.student_password_changed.subject': 'Tu contraseña de {club} ha cambiado',
  'mail.student_password_changed.text':
    'La contraseña de tu cuenta en {club} ha cambiado, y todas tus demás sesiones han terminado.\n\nSi no has sido tú, restablece tu contraseña ahora en la página de inicio de sesión.',
  'mail.student_password_changed.action': 'Ir a la página de inicio de sesión',

  'mail.student_new_device.subject': 'Nuevo inicio de sesión en tu cuenta en {club}',
  'mail.student_new_device.text':
    'Alguien ha iniciado sesión en tu cuenta en {club} desde un dispositivo nuevo.\n\nDispositivo: {device}.\nRed: {network}.\nHora: {at}.\n\nSi has sido tú, no tienes que hacer nada. Si no, termina esta sesión y cambia tu contraseña.',
  'mail.student_new_device.action': 'Ver tus sesiones',

  'mail.student_passkey_added.subject': 'Tu cuenta en {club} tiene una nueva llave de acceso',
  'mail.student_passkey_added.text':
    'Tu cuenta en {club} tiene una nueva llave de acceso. Con ella se puede iniciar sesión sin contraseña.\n\nSi no has sido tú, elimina la llave, elige una contraseña nueva y escribe a {club}.',
  'mail.student_passkey_added.action': 'Ver mis llaves de acceso',

  'mail.student_passkey_removed.subject': 'Se ha eliminado una llave de acceso de tu cuenta en {club}',
  'mail.student_passkey_removed.text':
    'Se ha eliminado una llave de acceso de tu cuenta en {club}. Ya nadie puede iniciar sesión con ella.\n\nSi no has sido tú, elige una contraseña nueva y escribe a {club}.',
  'mail.student_passkey_removed.action': 'Ver mis llaves de acceso',

  'mail.administrator_verify_email.subject': 'Confirma tu correo',
  'mail.administrator_verify_email.text':
    '¡Te damos la bienvenida! Confirma tu dirección de correo en las próximas 24 horas.\n\nSi no has sido tú, puedes ignorar este mensaje: no ocurre nada sin el enlace.',
  'mail.administrator_verify_email.action': 'Confirmar mi correo',

  'mail.administrator_already_registered.subject': 'Ya tienes una cuenta',
  'mail.administrator_already_registered.text':
    'Alguien, probablemente tú, se ha registrado con esta dirección de correo, que ya tiene una cuenta. Inicia sesión con ella. Puedes crear más organizaciones en el panel.\n\nSi no has sido tú, puedes ignorar este mensaje: no se ha cambiado nada.',
  'mail.administrator_already_registered.action': 'Iniciar sesión',

  'mail.administrator_reset_password.subject': 'Restablece tu contraseña',
  'mail.administrator_reset_password.text':
    'Puedes elegir una contraseña nueva durante la próxima hora.\n\nSi no has sido tú, puedes ignorar este mensaje: no ocurre nada sin el enlace.',
  'mail.administrator_reset_password.action': 'Elegir una contraseña nueva',

  'mail.administrator_password_changed.subject': 'Tu contraseña ha cambiado',
  'mail.administrator_password_changed.text':
    'La contraseña de tu cuenta ha cambiado, y todas tus demás sesiones han terminado.\n\nSi no has sido tú, restablece tu contraseña ahora en la página de inicio de sesión.',
  'mail.administrator_password_changed.action': 'Ir a la página de inicio de sesión',

  'mail.administrator_new_device.subject': 'Nuevo inicio de sesión en tu cuenta',
  'mail.administrator_new_device.text':
    'Alguien ha iniciado sesión en tu cuenta desde un dispositivo nuevo.\n\nDispositivo: {device}.\nRed: {network}.\nHora: {at}.\n\nSi has sido tú, no tienes que hacer nada. Si no, termina esta sesión y cambia tu contraseña.',
  'mail.administrator_new_device.action': 'Ver tus sesiones',

  'mail.unknown_device': 'Desconocido',
  'mail.unknown_network': 'Desconocida',

  'phone.code': '{code} es tu código. Puedes usarlo durante 10 minutos. No se lo des a nadie.',

  'mail.administrator_invitation.subject': 'Te invitan a administrar {club}',
  'mail.administrator_invitation.text':
    'Has recibido una invitación para administrar {club}. Puedes aceptarla en los próximos 7 días.\n\nSi no esperabas esta invitación, puedes ignorar este mensaje: no ocurre nada sin el enlace.',
  'mail.administrator_invitation.action': 'Aceptar la invitación',

  'mail.administrator_factor_added.subject': 'Se ha añadido un segundo factor a tu cuenta',
  'mail.administrator_factor_added.text':
    'Se ha añadido un segundo factor a tu cuenta. A partir de ahora, cada inicio de sesión necesita un segundo factor.\n\nSi no has sido tú, elige una contraseña nueva y elimina el factor.',
  'mail.administrator_factor_added.action': 'Ver tus segundos factores',

  'mail.administrator_factor_removed.subject': 'Se ha eliminado un segundo factor de tu cuenta',
  'mail.administrator_factor_removed.text':
    'Se ha eliminado un segundo factor de tu cuenta. Ya no abre tu cuenta.\n\nSi no has sido tú, elige una contraseña nueva y revisa tus segundos factores.',
  'mail.administrator_factor_removed.action': 'Ver tus segundos factores',

  'mail.administrator_recovery_code_used.subject': 'Se ha usado un código de recuperación de tu cuenta',
  'mail.administrator_recovery_code_used.text':
    'Un código de recuperación ha sustituido al segundo factor de tu cuenta. Este código no se puede volver a usar. Si te quedan pocos códigos, crea otros nuevos.\n\nSi no has sido tú, elige una contraseña nueva y crea códigos de recuperación nuevos.',
  'mail.administrator_recovery_code_used.action': 'Ver tus códigos de recuperación',

  'mail.administrator_recovery_codes_replaced.subject': 'Tu cuenta tiene códigos de recuperación nuevos',
  'mail.administrator_recovery_codes_replaced.text':
    'Se han creado códigos de recuperación nuevos para tu cuenta. Los códigos anteriores ya no valen.\n\nSi no has sido tú, elige una contraseña nueva y crea códigos de recuperación nuevos.',
  'mail.administrator_recovery_codes_replaced.action': 'Ver tus códigos de recuperación',

  'mail.administrator_identity_code.subject': '{code} es tu código para conectar tu acceso',
  'mail.administrator_identity_code.text':
    'Tu código es {code}. Puedes usarlo durante 15 minutos para conectar tu proveedor de identidad con tu cuenta.\n\nNo se lo des a nadie. Si no lo pediste, puedes ignorar este mensaje: sin el código no ocurre nada.',

  'mail.administrator_identity_joined.subject': 'Ahora puedes entrar con un proveedor de identidad',
  'mail.administrator_identity_joined.text':
    'Se conectó un proveedor de identidad con tu cuenta. Desde ahora puedes entrar con él.\n\nSi no fuiste tú, desconéctalo y elige una contraseña nueva.',
  'mail.administrator_identity_joined.action': 'Ver las conexiones',

  'mail.administrator_identity_removed.subject': 'Se desconectó un proveedor de identidad de tu cuenta',
  'mail.administrator_identity_removed.text':
    'Se desconectó un proveedor de identidad de tu cuenta. Ya no puedes entrar con él.\n\nSi no fuiste tú, elige una contraseña nueva.',
  'mail.administrator_identity_removed.action': 'Ver las conexiones',

  'mail.api_key_created.subject': 'Una nueva clave de API puede actuar en nombre de {club}',
  'mail.api_key_created.text':
    'Una persona de la administración ha creado una clave de API para {club}. Un programa con esta clave puede leer o modificar los datos que permitan sus ámbitos.\n\nSi no lo esperabas, revoca la clave.',
  'mail.api_key_created.action': 'Ver las claves de API',

  'mail.club_erasure_requested.subject': '{club} se eliminará el {at}',
  'mail.club_erasure_requested.text':
    'Una persona propietaria ha solicitado eliminar {club}. El {at} se eliminará el club con todos los estudiantes, cursos, archivos y mensajes. Después, nadie podrá recuperarlo.\n\nHasta entonces, el club funciona como siempre. Cualquier propietario puede cancelar la eliminación en los ajustes del club.',
  'mail.club_erasure_requested.action': 'Ver la eliminación',

  'mail.club_erasure_reminder.subject': '{club} se eliminará dentro de tres días',
  'mail.club_erasure_reminder.text':
    'El {at} se eliminará {club} con todos los estudiantes, cursos, archivos y mensajes. Después, nadie podrá recuperarlo.\n\nSi el club debe seguir, un propietario tiene que cancelar antes la eliminación en los ajustes del club.',
  'mail.club_erasure_reminder.action': 'Ver la eliminación',

  'mail.club_erasure_canceled.subject': 'Se ha cancelado la eliminación de {club}',
  'mail.club_erasure_canceled.text':
    'Una persona propietaria ha cancelado la eliminación de {club}. El club sigue y no se ha eliminado nada.\n\nSi no lo esperabas, habla con los demás propietarios del club.',
  'mail.club_erasure_canceled.action': 'Ver el club',

  'mail.webhook_endpoint_failing.subject': 'Se ha desactivado un endpoint de webhook de {club}',
  'mail.webhook_endpoint_failing.text':
    '{url} no acepta ningún mensaje de {club} desde hace cinco días. Hemos desactivado el endpoint y cancelado los mensajes que estaban en espera.\n\nCuando vuelva a funcionar, actívalo: se enviarán los eventos nuevos y podrás recuperar las entregas de los últimos 30 días.',
  'mail.webhook_endpoint_failing.action': 'Ver el endpoint',

  'mail.webhook_endpoint_gone.subject': 'Se ha desactivado un endpoint de webhook de {club}',
  'mail.webhook_endpoint_gone.text':
    '{url} ha respondido a un mensaje de {club} con «410 Gone». Hemos desactivado el endpoint y cancelado los mensajes que estaban en espera.\n\nSi la dirección sigue en uso, activa el endpoint: se enviarán los eventos nuevos y podrás recuperar las entregas de los últimos 30 días.',
  'mail.webhook_endpoint_gone.action': 'Ver el endpoint',

  'mail.webhook_endpoint_throttled.subject': 'Un endpoint de webhook de {club} falla desde hace una hora',
  'mail.webhook_endpoint_throttled.text':
    '{url} no acepta ningún mensaje de {club} desde hace una hora. Intentamos enviar un mensaje cada vez, y los demás esperan.\n\nSe enviarán en cuanto acepte uno. Si no acepta ninguno en cinco días, lo desactivaremos.',
  'mail.webhook_endpoint_throttled.action': 'Ver el endpoint',

  'mail.assignment_approved.subject': 'Tu trabajo en {club} ha sido aprobado',
  'mail.assignment_approved.text':
    '{club} ha aprobado el trabajo que entregaste{has_lesson, select, yes { en la lección «{lesson}»} other {}}.',
  'mail.assignment_approved.action': 'Leer la revisión',

  'mail.assignment_changes_requested.subject': '{club} pide cambios en tu trabajo',
  'mail.assignment_changes_requested.text':
    '{club} ha revisado el trabajo que entregaste{has_lesson, select, yes { en la lección «{lesson}»} other {}} y pide cambios. Lee qué debes cambiar y entrégalo de nuevo.',
  'mail.assignment_changes_requested.action': 'Leer la revisión',

  'mail.media_expiring.subject': 'Los videos de {club} se borrarán en 7 días',
  'mail.media_expiring.text':
    'El plan de {club} no incluye alojamiento de videos. Los videos de la biblioteca se borrarán en 7 días; la biblioteca muestra la fecha de cada uno.\n\nDescarga los videos que quieras conservar. Con un plan que incluya alojamiento de videos, se conservan todos.',
  'mail.media_expiring.action': 'Ver los videos',

  'mail.mentorship_booked.subject': 'Tu sesión en {club}: {at}',
  'mail.mentorship_booked.text':
    '{has_title, select, yes {«{title}»} other {Tu sesión}}{has_person, select, yes { con {person}} other {}} empieza el {at}.\n\nEncontrarás adjunta la entrada para tu calendario. La página de la sesión indica dónde es el encuentro. Allí también puedes cambiar la hora o cancelar la sesión.',
  'mail.mentorship_booked.action': 'Ver la sesión',

  'mail.mentorship_canceled.subject': 'Tu sesión en {club} se ha cancelado: {at}',
  'mail.mentorship_canceled.text':
    '{has_title, select, yes {La sesión «{title}»} other {Tu sesión}}{has_person, select, yes { con {person}} other {}} del {at} se ha cancelado.',
  'mail.mentorship_canceled.action': 'Ver la sesión',

  'mail.mentorship_day_before.subject': 'Falta un día para tu sesión en {club}: {at}',
  'mail.mentorship_day_before.text':
    '{has_title, select, yes {«{title}»} other {Tu sesión}}{has_person, select, yes { con {person}} other {}} empieza el {at}.\n\nSi no puedes asistir, cambia la hora o cancela la sesión en su página.',
  'mail.mentorship_day_before.action': 'Ver la sesión',

  'mail.mentorship_hour_before.subject': 'Tu sesión en {club} empieza pronto: {at}',
  'mail.mentorship_hour_before.text':
    '{has_title, select, yes {«{title}»} other {Tu sesión}}{has_person, select, yes { con {person}} other {}} empieza el {at}. Su página indica dónde es el encuentro.',
  'mail.mentorship_hour_before.action': 'Ver la sesión',

  'mail.mentorship_rating.subject': '¿Qué tal tu sesión en {club}?',
  'mail.mentorship_rating.text':
    '{has_title, select, yes {La sesión «{title}»} other {Tu sesión}}{has_person, select, yes { con {person}} other {}} fue el {at}. Cuéntanos qué tal fue: da de una a cinco estrellas y, si quieres, escribe un comentario.\n\nPuedes hacerlo durante 30 días.',
  'mail.mentorship_rating.action': 'Valorar la sesión',

  'mail.mentorship_mentor_booked.subject': 'Se ha reservado una sesión en {club}: {at}',
  'mail.mentorship_mentor_booked.text':
    '{has_title, select, yes {«{title}»} other {Tu sesión}}{has_person, select, yes { con {person}} other {}} empieza el {at}. Encontrarás adjunta la entrada para tu calendario.',
  'mail.mentorship_mentor_booked.action': 'Ver la sesión',

  'mail.mentorship_mentor_canceled.subject': 'Se ha cancelado una sesión en {club}: {at}',
  'mail.mentorship_mentor_canceled.text':
    '{has_title, select, yes {La sesión «{title}»} other {Tu sesión}}{has_person, select, yes { con {person}} other {}} del {at} se ha cancelado.',
  'mail.mentorship_mentor_canceled.action': 'Ver la sesión',

  'mail.mentorship_mentor_replaced.subject': 'Otra persona se encarga de una sesión en {club}: {at}',
  'mail.mentorship_mentor_replaced.text':
    '{has_title, select, yes {La sesión «{title}»} other {Tu sesión}}{has_person, select, yes { con {person}} other {}} del {at} ha cambiado de hora, y ahora la imparte otra persona. Esa hora te queda libre.',
  'mail.mentorship_mentor_replaced.action': 'Ver la sesión',

  'footer.unsubscribe': 'Cancelar la suscripción',

  'digest.subject': '{count, plural, one {# publicación nueva} other {# publicaciones nuevas}} en {club}',
  'digest.more_posts': '{count, plural, one {# publicación nueva más} other {# publicaciones nuevas más}}',
  'digest.at_least_more_posts':
    '{count, plural, one {Al menos # publicación nueva más} other {Al menos # publicaciones nuevas más}}',
  'digest.more_spaces':
    '{count, plural, one {Hay publicaciones nuevas en # espacio más.} other {Hay publicaciones nuevas en # espacios más.}}',
  'digest.post_without_words': 'Una publicación sin texto',
  'digest.zone': 'Zona horaria: {zone}.',
  'digest.reason':
    'Recibes este correo diario porque está activado para estos espacios, por decisión tuya o de tu club.',

  'test_mail.subject': '[Prueba] {subject}',

  'calendar.session': 'Sesión de mentoría',
  'time.moment': '{day} a las {time} ({zone})',
  'time.zone_with_offset': '{zone}, {offset}',

  'unsubscribe.question.title': '¿Cancelar la suscripción?',
  'unsubscribe.question.text':
    '{kind, select, campaigns {No recibirás más novedades de {club}.} automations {No recibirás más mensajes automáticos de {club}.} other {No recibirás más correos diarios sobre publicaciones nuevas de {club}.}} Los mensajes que pidas, como un código de acceso, seguirán llegando.',
  'unsubscribe.action':
    '{kind, select, campaigns {No recibir novedades} automations {No recibir mensajes automáticos} other {No recibir correos diarios sobre publicaciones nuevas}}',
  'unsubscribe.done.title': 'Suscripción cancelada',
  'unsubscribe.done.text':
    '{kind, select, campaigns {{club} ya no te envía novedades.} automations {{club} ya no te envía mensajes automáticos.} other {{club} ya no te envía correos diarios sobre publicaciones nuevas.}} Un correo que ya se haya enviado todavía puede llegar.',
  'unsubscribe.done.action': 'Volver a suscribirme',
  'unsubscribe.again.title': 'Vuelves a recibir los correos',
  'unsubscribe.again.text':
    '{kind, select, campaigns {{club} vuelve a enviarte novedades.} automations {{club} vuelve a enviarte mensajes automáticos.} other {{club} vuelve a enviarte correos diarios sobre publicaciones nuevas.}}',
  'unsubscribe.other.subscribed':
    '{kind, select, campaigns {Recibes novedades de {club}.} automations {Recibes mensajes automáticos de {club}.} other {Recibes correos diarios sobre publicaciones nuevas de {club}.}}',
  'unsubscribe.other.unsubscribed':
    '{kind, select, campaigns {No recibes novedades de {club}.} automations {No recibes mensajes automáticos de {club}.} other {No recibes correos diarios sobre publicaciones nuevas de {club}.}}',
  'unsubscribe.broken.title': 'Este enlace no funciona',
  'unsubscribe.broken.text':
    'La dirección está incompleta o se ha modificado. Abre de nuevo el enlace del correo o copia la dirección entera.',

  'certificate.title': 'Certificado de finalización',
  'certificate.certifies': 'Certificamos que',
  'certificate.has_completed': 'ha completado el curso',
  'certificate.completed_on': 'completado el {day}',
  'certificate.date_of_issue': 'Fecha de emisión · versión {version}',
  'certificate.qr_code': 'Código QR de {url}',
  'certificate.page_title': 'Certificado {code}',
  'certificate.valid.title': 'Este certificado es válido',
  'certificate.valid.text':
    'Compara el nombre, el curso y la versión con el certificado que te han mostrado: deben coincidir.',
  'certificate.revoked.title': 'Este certificado ha sido revocado',
  'certificate.revoked.text': 'El club que lo emitió lo ha retirado. Ya no acredita nada.',
  'certificate.withdrawn.title': 'Este certificado ha sido anulado',
  'certificate.withdrawn.text': 'Se emitió, pero la cuenta de su titular se ha eliminado, y con ella el nombre.',
  'certificate.unknown.title': 'No existe este certificado',
  'certificate.unknown.state': 'Ningún certificado tiene este código',
  'certificate.unknown.text':
    'Compara el código de la dirección con el impreso: doce letras y cifras en tres grupos de cuatro. Las mayúsculas, las minúsculas, los guiones y los espacios no importan. Los caracteres 0, 1, I, L y O no aparecen nunca.',
  'certificate.name': 'Otorgado a',
  'certificate.course': 'Curso',
  'certificate.extent': 'Duración',
  'certificate.lessons': '{count, plural, one {# lección} other {# lecciones}}',
  'certificate.hours': '{count, plural, one {# hora} other {# horas}}',
  'certificate.completed': 'Finalizado',
  'certificate.issued': 'Emitido',
  'certificate.revoked_on': 'Revocado',
  'certificate.version': 'Versión',
  'certificate.code': 'Código',
  'certificate.sample.student': 'Ana Ejemplo',
  'certificate.sample.course': 'Nudos para principiantes',

  'page.busy.title': 'Ahora no es posible',
  'page.busy.text': 'Inténtalo de nuevo dentro de un momento.',

  'preview.title': 'Vista previa: {subject}',
  'preview.of_nobody': 'Así lo ve alguien de quien no se sabe nada.',
  'preview.of_student': 'La copia para {name}.',
  'preview.note':
    'Una vista previa de {campaign}: no se ha escrito a nadie, no se cuenta nada y cancelar la suscripción no tiene efecto.',
  'preview.plain_text': 'Texto sin formato',
  'preview.mail': 'El correo',
  'preview.mail_on_phone': 'El correo en un teléfono',
  'preview.too_large':
    'El correo es demasiado grande para mostrarlo aquí: en esta página tendría {bytes, number} bytes.',
  'preview.link_leads_nowhere': 'No lleva a ninguna parte en una vista previa',
  'preview.gone.title': 'Esta vista previa ha caducado',
  'preview.gone.text': 'Una vista previa se puede ver durante 15 minutos. Abre una nueva.',
  'preview.problems.title': 'Sin vista previa',
  'preview.problems.text':
    'El correo se ha modificado y ahora tiene problemas, o es demasiado grande. Corrígelo y abre una vista previa nueva.',
  'preview.rate_limited.title': 'Demasiadas vistas previas',
  'preview.rate_limited.text': 'Espera un minuto y abre esta página de nuevo.',
  'preview.busy.text': 'Hay demasiado trabajo en curso en este club. Abre esta página de nuevo dentro de un momento.',

  'answer.model_unavailable': 'No se ha podido acceder al asistente. Pregunta de nuevo.',
  'answer.model_overloaded': 'El asistente está saturado. Pregunta de nuevo dentro de un rato.',
  'answer.model_rejected': 'El asistente no ha podido aceptar esta pregunta.',
  'answer.interrupted': 'La respuesta se ha interrumpido. Pregunta de nuevo.',
  'answer.model_silent': 'El asistente ha dejado de responder. Pregunta de nuevo.',
  'answer.internal_error': 'No se ha podido terminar la respuesta. Pregunta de nuevo.',
  'answer.conversation_deleted': 'La conversación se ha eliminado.',
  'answer.student_removed': 'La cuenta se ha eliminado.',

  'refusal.no_place_for_students':
    'Este club no puede admitir más estudiantes por ahora. Ponte en contacto con el club.',
  'refusal.no_room_for_files': 'Este club no tiene espacio para más archivos por ahora. Ponte en contacto con el club.',
  'refusal.not_offered': 'Este club no ofrece esto por ahora. Ponte en contacto con el club.',

  'refusal.daily_limit_reached':
    'Este asistente acepta {count, plural, one {# pregunta} many {# de preguntas} other {# preguntas}} de cada estudiante en 24 horas.',
  'refusal.ai_budget_spent': 'El presupuesto de IA del club para este mes se ha agotado. Pregunta el mes que viene.',
  'refusal.ai_budget_reserved':
    'Lo que queda del presupuesto de IA del club está reservado para respuestas en curso. Pregunta de nuevo dentro de un rato.',
  'refusal.no_access_to_agent': 'No tienes acceso a este asistente.',
  'refusal.answer_in_progress': 'Esta conversación está respondiendo a otra pregunta.',
  'refusal.too_many_answers_followed': 'Ya sigues el máximo de respuestas al mismo tiempo.',
  'refusal.answers_of_club_followed':
    'Hay demasiadas respuestas de este club en curso. Inténtalo de nuevo dentro de un momento.',
  'refusal.answers_followed': 'Hay demasiadas respuestas en curso. Inténtalo de nuevo dentro de un momento.',

  'refusal.too_many_images':
    'Tienes {count, plural, one {# imagen} many {# de imágenes} other {# imágenes}} sin pregunta. Usa primero alguna de ellas en una pregunta.',
  'refusal.too_many_avatar_uploads':
    'Has empezado {count, plural, one {# subida} many {# de subidas} other {# subidas}} en 15 minutos. Espera unos minutos.',
  'refusal.too_many_unsent_files':
    'Tienes {count, plural, one {# archivo} many {# de archivos} other {# archivos}} sin enviar. Envía primero algunos; los demás se eliminan a los 7 días.',
  'refusal.too_many_post_files':
    'Tienes {count, plural, one {# archivo} many {# de archivos} other {# archivos}} sin publicar. Publica primero algunos; los demás se eliminan a los 7 días.',
  'refusal.file_in_sent_work':
    'El archivo forma parte de un trabajo que has enviado. Retira primero el trabajo, mientras espera su revisión.',
  'refusal.file_not_arrived': 'El archivo todavía no ha llegado, o no ha llegado entero. Envíalo de nuevo.',
  'refusal.upload_ended': 'El archivo ya ha llegado, o la subida ha fallado.',
  'refusal.upload_too_slow': 'La subida ha tardado demasiado. Empieza de nuevo.',
  'refusal.archive_not_ready': 'Todavía se está comprobando un archivo. Inténtalo de nuevo dentro de un momento.',
  'refusal.nothing_to_download': 'Aquí no hay archivos para descargar.',

  'refusal.no_access_to_space': 'No tienes acceso a este espacio.',
  'refusal.not_admitted_to_space': 'No puedes unirte a este espacio.',
  'refusal.join_space_first': 'Únete primero al espacio.',
  'refusal.administrators_post': 'En este espacio solo publica la administración.',
  'refusal.author_alone': 'Solo puede hacerlo quien lo escribió.',
  'refusal.post_locked': 'La publicación ya no admite comentarios.',
  'refusal.already_reported': 'Ya lo has denunciado.',

  'refusal.slot_taken': 'A esa hora ya hay otra sesión.',
  'refusal.slot_gone': 'A esa hora no empieza ninguna sesión que se pueda reservar. Elige otra hora.',
  'refusal.agenda_closed': 'Los temas de una sesión se pueden escribir hasta que empieza.',
  'refusal.rating_closed': 'Una sesión que tuvo lugar se puede valorar durante 30 días después de su fin.',
  'refusal.session_canceled': 'La sesión está cancelada.',
  'refusal.too_late_to_cancel': 'Es demasiado tarde para cancelar o cambiar la sesión.',
  'refusal.booking_limit_reached': 'Ya tienes el máximo de sesiones pendientes de esta mentoría.',

  'refusal.assignment_open': 'La lección tiene una tarea obligatoria que todavía no está aprobada.',
  'refusal.assignment_closed': 'La tarea ya no admite trabajos.',
  'refusal.work_waits_for_review': 'Tu trabajo espera su revisión. Retíralo para enviar otro.',
  'refusal.work_approved': 'Tu trabajo está aprobado.',
  'refusal.work_changed': 'Esta entrega no es la última, o ya no espera una revisión. Abre el trabajo de nuevo.',

  'refusal.invalid_credentials': 'El correo o la contraseña no son correctos.',
  'refusal.email_not_verified':
    'Confirma primero tu correo, con el enlace que hay en tu buzón; si ya tenías una cuenta, restablece su contraseña.',
  'refusal.password_short':
    'La contraseña tiene {count, plural, one {# carácter} many {# de caracteres} other {# caracteres}}; debe tener al menos {least}.',
  'refusal.password_repeats': 'La contraseña repite muy pocos caracteres; elige otra.',
  'refusal.password_known':
    'La contraseña es una de las primeras que se prueban, o se parece a una de ellas; elige otra.',
  'refusal.password_personal': 'La contraseña es poco más que tu correo, tu nombre o el nombre del club; elige otra.',
  'refusal.passkey_limit_reached':
    'Tu cuenta ya tiene todas las llaves de acceso que puede tener. Elimina una primero.',
  'refusal.passkey_refused':
    'Esta llave de acceso no se ha aceptado. Inténtalo de nuevo o inicia sesión de otra forma.',
  'refusal.password_exists': 'La cuenta ya tiene una contraseña. Para cambiarla, restablécela.',
  'refusal.token_gone': 'Este enlace o código no es válido: ya se usó, ha caducado o nunca existió.',
  'refusal.registration_link_used_up': 'El enlace de inscripción ha llegado a su límite de usos.',
  'refusal.too_many_sign_ups':
    'Muchas personas se han inscrito hace poco sin confirmar. Inténtalo de nuevo dentro de {minutes, plural, one {# minuto} many {# de minutos} other {# minutos}}.',
  'refusal.too_many_sign_ups_of_network':
    'Muchas personas se han inscrito hace poco desde tu red sin confirmar. Inténtalo de nuevo dentro de {minutes, plural, one {# minuto} many {# de minutos} other {# minutos}}.',
  'refusal.too_many_tries':
    'Ha habido demasiados intentos fallidos. Inténtalo de nuevo dentro de {minutes, plural, one {# minuto} many {# de minutos} other {# minutos}}.',

  'refusal.rate_limited':
    'Lo has hecho demasiadas veces. Inténtalo de nuevo dentro de {minutes, plural, one {# minuto} many {# de minutos} other {# minutos}}.',
  'refusal.busy': 'Hay demasiado trabajo en curso. Inténtalo de nuevo dentro de un momento.',
  'refusal.internal_error': 'Algo ha fallado por nuestra parte. Número de la petición: {id}',
  'refusal.not_found': 'Esto ya no está aquí, o no puedes verlo.',
  'refusal.unauthenticated': 'Inicia sesión de nuevo.',
  'refusal.certificate_revoked': 'El certificado está revocado.',
  'refusal.image_not_ready': 'Una imagen todavía no está lista, o ya no existe.',
  'refusal.file_not_ready': 'Un archivo todavía no está listo, ya se ha enviado o ya no existe.',
};
