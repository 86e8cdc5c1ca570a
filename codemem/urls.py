"""The table of contents: every address of the server."""

from django.contrib import admin
from django.urls import path

from codemem import metrics

urlpatterns = [
    path("admin/", admin.site.urls),
    path("metrics", metrics.exposition),
]
