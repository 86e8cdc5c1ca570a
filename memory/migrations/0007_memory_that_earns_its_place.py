import codemem.accounts.models
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Visibility, provenance, structure and states of memories; their versions, anchors, entities,
    use, review queue and consolidation runs.
    """

    dependencies = [
        ("accounts", "0002_audit_events_only_added"),
        ("graph", "0010_fewer_indexes"),
        ("memory", "0006_embedding_in_row"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Anchor",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=codemem.accounts.models.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("file", "File"),
                            ("lines", "Lines"),
                            ("symbol", "Symbol"),
                            ("pattern", "Pattern"),
                            ("dependency", "Dependency"),
                        ],
                        max_length=10,
                    ),
                ),
                ("path", models.TextField(blank=True)),
                ("symbol", models.TextField(blank=True)),
                ("start_line", models.PositiveIntegerField(blank=True, null=True)),
                ("end_line", models.PositiveIntegerField(blank=True, null=True)),
                ("pattern", models.TextField(blank=True)),
                ("package", models.TextField(blank=True)),
                ("commit", models.CharField(blank=True, max_length=64)),
                ("content_hash", models.BinaryField(max_length=32, null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("ok", "Ok"),
                            ("drifted", "Drifted"),
                            ("missing", "Missing"),
                            ("unverified", "Unverified"),
                        ],
                        default="unverified",
                        max_length=10,
                    ),
                ),
                ("detail", models.TextField(blank=True)),
                ("checked_commit", models.CharField(blank=True, max_length=64)),
                ("checked_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["memory", "id"],
            },
        ),
        migrations.CreateModel(
            name="ConsolidationChange",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=20)),
                ("subject", models.CharField(max_length=200)),
                ("before", models.JSONField(null=True)),
                ("after", models.JSONField(null=True)),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="ConsolidationRun",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=codemem.accounts.models.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "cycle",
                    models.CharField(
                        choices=[
                            ("decay", "Decay"),
                            ("creative", "Creative"),
                            ("cluster", "Cluster"),
                            ("summarize", "Summarize"),
                            ("forget", "Forget"),
                        ],
                        max_length=10,
                    ),
                ),
                ("is_dry", models.BooleanField(default=False)),
                ("policy", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("undone", "Undone"),
                        ],
                        default="running",
                        max_length=8,
                    ),
                ),
                ("asked_by", models.CharField(max_length=150)),
                ("started_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("report", models.JSONField(default=dict)),
                ("error", models.TextField(blank=True)),
            ],
            options={
                "ordering": ["-started_at"],
            },
        ),
        migrations.CreateModel(
            name="Feedback",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=codemem.accounts.models.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("helpful", "Helpful"),
                            ("not_helpful", "Not Helpful"),
                            ("stale", "Stale"),
                            ("wrong", "Wrong"),
                        ],
                        max_length=12,
                    ),
                ),
                ("note", models.TextField(blank=True)),
                ("session_id", models.CharField(blank=True, max_length=200)),
                ("given_at", models.DateTimeField()),
            ],
            options={
                "verbose_name_plural": "feedback",
            },
        ),
        migrations.CreateModel(
            name="MemoryEntity",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("path", "Path"),
                            ("symbol", "Symbol"),
                            ("error", "Error"),
                            ("package", "Package"),
                            ("person", "Person"),
                        ],
                        max_length=10,
                    ),
                ),
                ("key", models.CharField(max_length=400)),
            ],
        ),
        migrations.CreateModel(
            name="MemoryUse",
            fields=[
                (
                    "memory",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="use",
                        serialize=False,
                        to="memory.memory",
                    ),
                ),
                ("recalled", models.PositiveIntegerField(default=0)),
                ("recalled_at", models.DateTimeField(blank=True, null=True)),
                ("helpful", models.PositiveIntegerField(default=0)),
                ("not_helpful", models.PositiveIntegerField(default=0)),
                ("stale", models.PositiveIntegerField(default=0)),
                ("wrong", models.PositiveIntegerField(default=0)),
                ("retention", models.FloatField(blank=True, null=True)),
                ("retention_at", models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name="MemoryVersion",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=codemem.accounts.models.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("snapshot", models.JSONField()),
                ("valid_from", models.DateTimeField()),
                ("valid_to", models.DateTimeField()),
                ("change", models.CharField(max_length=20)),
                ("reason", models.TextField(blank=True)),
                ("changed_by_name", models.CharField(max_length=150)),
                ("agent", models.CharField(blank=True, max_length=100)),
                ("token_id", models.UUIDField(editable=False, null=True)),
            ],
            options={
                "ordering": ["memory", "number"],
            },
        ),
        migrations.CreateModel(
            name="ReviewItem",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=codemem.accounts.models.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("new", "New"),
                            ("merge", "Merge"),
                            ("supersede", "Supersede"),
                            ("conflict", "Conflict"),
                            ("resolve", "Resolve"),
                            ("forget", "Forget"),
                            ("promote", "Promote"),
                            ("raise", "Raise"),
                        ],
                        max_length=10,
                    ),
                ),
                ("memory_ids", models.JSONField(default=list)),
                ("proposal", models.JSONField(default=dict)),
                ("reason", models.TextField()),
                ("confidence", models.FloatField(default=0.5)),
                ("fingerprint", models.BinaryField(max_length=32)),
                ("proposed_by", models.CharField(max_length=150)),
                ("created_at", models.DateTimeField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("approved", "Approved"),
                            ("rejected", "Rejected"),
                            ("overtaken", "Overtaken"),
                        ],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("decided_by", models.CharField(blank=True, max_length=150)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("decision_note", models.TextField(blank=True)),
            ],
            options={
                "ordering": ["-created_at"],
            },
        ),
        migrations.RemoveConstraint(
            model_name="memory",
            name="memory_content_once_in_scope",
        ),
        migrations.AddField(
            model_name="memory",
            name="acceptance_criteria",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name="memory",
            name="agent",
            field=models.CharField(blank=True, max_length=100),
        ),
        migrations.AddField(
            model_name="memory",
            name="alternatives",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name="memory",
            name="ended_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="memory",
            name="evidence",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name="memory",
            name="idempotency_key",
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AddField(
            model_name="memory",
            name="is_pinned",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="memory",
            name="model",
            field=models.CharField(blank=True, max_length=100),
        ),
        migrations.AddField(
            model_name="memory",
            name="rationale",
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name="memory",
            name="session_id",
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AddField(
            model_name="memory",
            name="source",
            field=models.CharField(default="tool", max_length=20),
        ),
        migrations.AddField(
            model_name="memory",
            name="superseded_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="supersedes",
                to="memory.memory",
            ),
        ),
        migrations.AddField(
            model_name="memory",
            name="visibility",
            field=models.CharField(
                choices=[
                    ("private", "Private"),
                    ("repository", "Repository"),
                    ("namespace", "Namespace"),
                ],
                default="namespace",
                max_length=10,
            ),
        ),
        migrations.RunSQL(
            "UPDATE memory_memory SET visibility = 'repository' WHERE repository_id IS NOT NULL;"
            "UPDATE memory_memory SET ended_at = retired_at WHERE state = 'retired';"
            "UPDATE memory_memory SET ended_at = expires_at WHERE state = 'expired';"
            "SET CONSTRAINTS ALL IMMEDIATE",
            migrations.RunSQL.noop,
        ),
        migrations.AlterField(
            model_name="memory",
            name="created_at",
            field=models.DateTimeField(default=django.utils.timezone.now),
        ),
        migrations.AlterField(
            model_name="memory",
            name="state",
            field=models.CharField(
                choices=[
                    ("proposed", "Proposed"),
                    ("active", "Active"),
                    ("resolved", "Resolved"),
                    ("superseded", "Superseded"),
                    ("retired", "Retired"),
                    ("expired", "Expired"),
                ],
                default="active",
                max_length=10,
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("session_id", ""), _negated=True),
                fields=["namespace", "session_id", "created_at"],
                name="memory_of_session",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.UniqueConstraint(
                models.F("namespace"),
                models.F("repository"),
                models.F("branch"),
                models.F("content_hash"),
                condition=models.Q(
                    ("state", "active"), models.Q(("visibility", "private"), _negated=True)
                ),
                name="memory_content_once_in_scope",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.UniqueConstraint(
                models.F("author"),
                models.F("namespace"),
                models.F("repository"),
                models.F("branch"),
                models.F("content_hash"),
                condition=models.Q(("state", "active"), ("visibility", "private")),
                name="memory_private_content_once",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.UniqueConstraint(
                models.F("namespace"),
                models.F("author"),
                models.F("idempotency_key"),
                condition=models.Q(("idempotency_key", ""), _negated=True),
                name="memory_idempotency_key_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("visibility", "repository"), _negated=True),
                    ("repository__isnull", False),
                    _connector="OR",
                ),
                name="memory_visible_in_its_repository",
            ),
        ),
        migrations.AddField(
            model_name="anchor",
            name="memory",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="anchors",
                to="memory.memory",
            ),
        ),
        migrations.AddField(
            model_name="anchor",
            name="repository",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="anchors",
                to="graph.repository",
            ),
        ),
        migrations.AddField(
            model_name="consolidationrun",
            name="namespace",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="consolidation_runs",
                to="accounts.namespace",
            ),
        ),
        migrations.AddField(
            model_name="consolidationchange",
            name="run",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="changes",
                to="memory.consolidationrun",
            ),
        ),
        migrations.AddField(
            model_name="feedback",
            name="memory",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="feedback",
                to="memory.memory",
            ),
        ),
        migrations.AddField(
            model_name="feedback",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="memoryentity",
            name="memory",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="entities",
                to="memory.memory",
            ),
        ),
        migrations.AddField(
            model_name="memoryentity",
            name="namespace",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="accounts.namespace",
            ),
        ),
        migrations.AddField(
            model_name="memoryversion",
            name="changed_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="memoryversion",
            name="memory",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="versions",
                to="memory.memory",
            ),
        ),
        migrations.AddField(
            model_name="reviewitem",
            name="namespace",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="review_items",
                to="accounts.namespace",
            ),
        ),
        migrations.AddField(
            model_name="reviewitem",
            name="private_to",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="reviewitem",
            name="repository",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="graph.repository",
            ),
        ),
        migrations.AddIndex(
            model_name="anchor",
            index=models.Index(fields=["repository", "path"], name="anchor_of_path"),
        ),
        migrations.AddIndex(
            model_name="consolidationrun",
            index=models.Index(fields=["namespace", "cycle", "-started_at"], name="run_of_cycle"),
        ),
        migrations.AddConstraint(
            model_name="feedback",
            constraint=models.UniqueConstraint(
                models.F("memory"), models.F("user"), name="feedback_once_per_user"
            ),
        ),
        migrations.AddIndex(
            model_name="memoryentity",
            index=models.Index(fields=["namespace", "kind", "key"], name="memory_entity_by_key"),
        ),
        migrations.AddConstraint(
            model_name="memoryentity",
            constraint=models.UniqueConstraint(
                models.F("memory"), models.F("kind"), models.F("key"), name="memory_entity_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="memoryversion",
            constraint=models.UniqueConstraint(
                models.F("memory"), models.F("number"), name="memory_version_number_once"
            ),
        ),
        migrations.AddIndex(
            model_name="reviewitem",
            index=models.Index(fields=["namespace", "state", "-created_at"], name="review_queue"),
        ),
        migrations.AddConstraint(
            model_name="reviewitem",
            constraint=models.UniqueConstraint(
                models.F("namespace"),
                models.F("fingerprint"),
                condition=models.Q(("state", "open")),
                name="review_item_open_once",
            ),
        ),
    ]
