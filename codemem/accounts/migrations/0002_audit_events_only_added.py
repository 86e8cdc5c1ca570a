from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [
        migrations.RunSQL(
            """
            CREATE FUNCTION accounts_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                RAISE EXCEPTION 'audit events are only ever added';
            END $$;
            CREATE TRIGGER accounts_audit_only_added
                BEFORE UPDATE OR DELETE ON accounts_auditevent
                FOR EACH ROW EXECUTE FUNCTION accounts_audit_refuse();
            """,
            """
            DROP TRIGGER accounts_audit_only_added ON accounts_auditevent;
            DROP FUNCTION accounts_audit_refuse();
            """,
        )
    ]
